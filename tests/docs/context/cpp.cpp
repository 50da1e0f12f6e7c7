// What the program in docs/cpp.md leaves to the reader.
#include <filesystem>
#include <string>

struct State {
    int step = 0;
};

static const std::string my_file = "ck/rank.0";

static std::string my_file_in(const std::string& name) { return name + "/rank.0"; }
static bool load(const std::filesystem::path& path, State& state) { return !path.empty() && state.step >= 0; }
static void save(const std::filesystem::path&, const State&) {}
static void advance(State& state) { ++state.step; }

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    State state, loaded;
BLOCK
    MPI_Finalize();
}
