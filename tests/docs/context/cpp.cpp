// What the programs in docs/cpp.md leave to the reader; one does not need all of it.
#include <filesystem>
#include <string>

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
BLOCK
    MPI_Finalize();
}
