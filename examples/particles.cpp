// Particles in a box: an MPI program which goes on from a checkpoint on any number of ranks.
//
// Each rank has the particles in its slab of the box, and sends those that leave it to the rank beside. They have no
// number, so their order says nothing, and each rank has as many as happen to be there: a "bag". Box::list lists what a
// checkpoint has. Started again with another number of ranks, each gets an equal share of the particles, and sends them
// to where they belong, as after any step. The result is the same bit for bit.
//
// With "share cell" the bag has a key, the cell of each particle, and SCR asks the program which rank has a cell: then each
// rank gets its own particles at once.
//
// Usage: particles [size N] [steps N] [every N] [output FILE] [share cell]
//   size    particles (10000)
//   steps   time steps (100)
//   every   steps between checkpoints; 0 leaves that to SCR (10)
//   output  file for the final positions, none if empty (particles.out)
//   share   what another number of ranks gets: equal shares, or by the cell (equal)
//
// Run it below the prefix directory (SCR_PREFIX, else the current directory).

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <mpi.h>
#include <scr.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Options {
    int size = 10000;
    int steps = 100;
    int every = 10;
    std::string output = "particles.out";
    bool by_cell = false;
};

Options read_arguments(int argc, char** argv)
{
    Options options;
    for (int i = 1; i < argc; i += 2) {
        const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (key == "size") options.size = std::stoi(value);
        else if (key == "steps") options.steps = std::stoi(value);
        else if (key == "every") options.every = std::stoi(value);
        else if (key == "output") options.output = value;
        else if (key == "share" && (value == "cell" || value == "equal")) options.by_cell = value == "cell";
        else throw std::invalid_argument("unknown argument " + key);
    }
    if (options.size < 0) throw std::invalid_argument("size must not be negative");
    return options;
}

struct Particle {
    double place, speed;
};

// The particles of this rank, in a box from 0 to 1, which has cells; each rank has some that follow each other.
struct Box {
    static constexpr std::int64_t CELLS = 1024;

    int rank = 0, ranks = 1;
    bool by_cell = false;
    int step = 0;
    std::vector<Particle> particles;

    Box(const Options& options, MPI_Comm comm)
        : by_cell(options.by_cell)
    {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &ranks);
    }

    static std::int64_t cell(const Particle& p)
    {
        return std::min(static_cast<std::int64_t>(p.place * CELLS), CELLS - 1);
    }

    // The rank that has a cell.
    int owner(std::int64_t cell) const { return static_cast<int>(cell * ranks / CELLS); }
    int home(const Particle& p) const { return owner(cell(p)); }

    // The state of the program, for SCR: called to write it, and to read it.
    void list(scr::State& s)
    {
        s.same("step", step);
        if (by_cell) {
            std::vector<std::int64_t> cells;
            for (const Particle& p : particles) cells.push_back(cell(p));
            s.bag("particles", particles.size(), "cell", [this](std::int64_t c) { return owner(c); });
            s.field("cell", cells, scr::by("particles"));
        } else {
            s.bag("particles", particles.size());
        }
        s.field("place and speed", scr::bytes(particles), scr::by("particles"));
    }

    // How many of this rank's particles are another one's.
    long away() const
    {
        return std::count_if(particles.begin(), particles.end(), [this](const Particle& p) { return home(p) != rank; });
    }

    void begin(int size)
    {
        for (int i = rank; i < size; i += ranks)
            particles.push_back({ (i + 0.5) / size, ((i * 7919LL) % 1009 - 504) / 50000.0 });
    }

    // Each particle flies, and is thrown back by the walls.
    void fly()
    {
        for (Particle& p : particles) {
            p.place += p.speed;
            if (p.place < 0 || p.place > 1) {
                p.speed = -p.speed;
                p.place = p.place < 0 ? -p.place : 2 - p.place;
            }
        }
        step++;
    }

    // Sends each particle to the rank in whose slab it is.
    void send_home(MPI_Comm comm)
    {
        std::sort(particles.begin(), particles.end(),
            [&](const Particle& a, const Particle& b) { return home(a) < home(b); });
        std::vector<int> sent(ranks), got(ranks), sent_at(ranks), got_at(ranks);
        for (const Particle& p : particles) sent[home(p)] += sizeof p;
        MPI_Alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm);
        for (int r = 1; r < ranks; r++) {
            sent_at[r] = sent_at[r - 1] + sent[r - 1];
            got_at[r] = got_at[r - 1] + got[r - 1];
        }
        std::vector<Particle> here((got_at[ranks - 1] + got[ranks - 1]) / sizeof(Particle));
        MPI_Alltoallv(particles.data(), sent.data(), sent_at.data(), MPI_BYTE, here.data(), got.data(), got_at.data(),
            MPI_BYTE, comm);
        particles = here;
    }
};

// Rank 0 writes all places, sorted.
void write_result(const Box& box, const std::string& file)
{
    const int rank = box.rank, ranks = box.ranks;
    std::vector<double> own, all;
    for (const Particle& p : box.particles) own.push_back(p.place);
    std::vector<int> counts(ranks), at(ranks);
    const int count = static_cast<int>(own.size());
    MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 1; r < ranks; r++) at[r] = at[r - 1] + counts[r - 1];
    all.resize(at[ranks - 1] + counts[ranks - 1]);
    MPI_Gatherv(own.data(), count, MPI_DOUBLE, all.data(), counts.data(), at.data(), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank != 0 || file.empty()) return;
    std::sort(all.begin(), all.end());
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(double)));
    out.close();
    if (!out) throw std::runtime_error("cannot write " + file);
}

// `with_scr` is false if SCR is switched off, or could not start.
void run(const Options& options, bool with_scr)
{
    Box box(options, MPI_COMM_WORLD);
    const auto say = [&](const auto&... words) {
        if (box.rank == 0) ((std::cout << "particles: ") << ... << words) << std::endl;
    };
    if (with_scr && scr::restore(box)) {
        say("restarted from particles.", box.step);
    } else {
        say("no checkpoint, starting from step 0");
        box.begin(options.size);
    }
    long away = box.away();
    MPI_Allreduce(MPI_IN_PLACE, &away, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    say("particles that are not at home: ", away);
    box.send_home(MPI_COMM_WORLD);
    bool stop = false;
    while (box.step < options.steps && !stop) {
        box.fly();
        box.send_home(MPI_COMM_WORLD);
        if (!with_scr) continue;
        if (options.every == 0) {
            stop = scr::checkpoint_if_needed(box);
        } else if (box.step % options.every == 0) {
            scr::checkpoint(box, "particles." + std::to_string(box.step));
            say("checkpoint particles.", box.step);
            stop = scr::should_exit();
        }
    }
    if (box.step < options.steps) return say("stopping early, as SCR asks");
    write_result(box, options.output);
    say("finished step ", box.step);
}

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    try {
        const Options options = read_arguments(argc, argv);
        auto session = scr::Session::start();
        run(options, session.has_value());
        if (session) session->finalize();
    } catch (const std::exception& error) {
        std::cerr << "particles: " << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
