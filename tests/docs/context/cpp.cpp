// What the programs in docs/cpp.md leave to the reader; one does not need all of it.
#include <array>
#include <filesystem>
#include <mpi.h>
#include <scr.hpp>
#include <string>
#include <vector>

struct Material {
    int number;
    double heat;
};

struct State {
    int step = 0;
};

[[maybe_unused]] static const std::string my_file = "ck/rank.0";

[[maybe_unused]] static std::string my_file_in(const std::string& name) { return name + "/rank.0"; }
[[maybe_unused]] static bool load(const std::filesystem::path& path, State& state)
{
    return !path.empty() && state.step >= 0;
}

[[maybe_unused]] static void save(const std::filesystem::path&, const State&) {}
[[maybe_unused]] static void advance(State& state) { ++state.step; }

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    [[maybe_unused]] const MPI_Comm ocean_comm = MPI_COMM_WORLD;
    [[maybe_unused]] State state, loaded;
    [[maybe_unused]] const int all_nodes = 2;
    std::vector<int> ids { 2, 1 };
    std::vector<double> temperature(2);
    std::vector<std::array<double, 3>> velocity(2);
    std::vector<Material> materials(2);
BLOCK
    MPI_Finalize();
}
