// Heat in a square plate: an MPI program which survives a lost node through SCR.
//
// The plate is divided by rows. Every so often each rank writes its rows to a file of its own
// as a checkpoint; after a failure the program is simply started again, and goes on from the
// newest checkpoint. The result is the same bit for bit, with or without a failure.
//
// Usage: heat2d [size N] [steps N] [every N] [delay MS] [output FILE]
//   size    interior points in each direction (256)
//   steps   time steps (100)
//   every   steps between checkpoints; 0 asks SCR when it is time (10)
//   delay   milliseconds to wait in each step, to leave time for a failure (0)
//   output  file for the final field, none if empty (heat2d.out)
//
// Run it below the prefix directory (SCR_PREFIX, else the current directory).

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mpi.h>
#include <numeric>
#include <optional>
#include <scr.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Options {
    int size = 256;
    int steps = 100;
    int every = 10;
    int delay = 0;
    std::string output = "heat2d.out";
};

Options read_arguments(int argc, char** argv, int ranks)
{
    Options options;
    for (int i = 1; i < argc; i += 2) {
        const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (key == "size") options.size = std::stoi(value);
        else if (key == "steps") options.steps = std::stoi(value);
        else if (key == "every") options.every = std::stoi(value);
        else if (key == "delay") options.delay = std::stoi(value);
        else if (key == "output") options.output = value;
        else throw std::invalid_argument("unknown argument " + key);
    }
    if (options.size < ranks || options.size > 30000) {
        throw std::invalid_argument("size must be from the number of ranks to 30000");
    }
    return options;
}

class Plate {
public:
    Plate(const Options& given, int my_rank, int all_ranks)
        : options(given), rank(my_rank), ranks(all_ranks),
          rows(first_row(my_rank + 1) - first_row(my_rank)), width(given.size + 2),
          field(static_cast<std::size_t>(rows + 2) * static_cast<std::size_t>(width)),
          next(field.size())
    {
        if (rank == 0) std::fill_n(field.begin(), width, 1.0);
    }

    // Reads the newest checkpoint that all ranks can read, if there is one.
    void restart()
    {
        // To start from the beginning where there may be a checkpoint could cost it: if SCR cannot tell whether there
        // is one, next() throws, and the program ends.
        while (auto checkpoint = scr::Restart::next()) {
            const std::optional<int> read = read_file(*checkpoint);
            if (checkpoint->commit(read.has_value()) && read) {
                step = *read;
                field = next;
                say("restarted from ", checkpoint->name());
                return;
            }
            say("cannot read ", checkpoint->name(), ", looking for an older checkpoint");
        }
        say("no checkpoint, starting from step 0");
    }

    // `with_scr` is false if SCR is switched off, or could not start.
    void run(bool with_scr)
    {
        bool stop = false;
        while (step < options.steps && !stop) {
            step++;
            exchange_borders();
            advance();
            std::this_thread::sleep_for(std::chrono::milliseconds(options.delay));

            if (with_scr && (options.every > 0 ? step % options.every == 0 : scr::need_checkpoint())) {
                checkpoint();
                stop = scr::should_exit();
            }
        }
        if (step == options.steps) finish();
        else say("stopping early, as SCR asks");
    }

private:
    // Rows of the plate before those of rank r.
    int first_row(int r) const
    {
        return options.size / ranks * r + std::min(r, options.size % ranks);
    }

    double* row_of(std::vector<double>& data, int row) const
    {
        return data.data() + static_cast<std::ptrdiff_t>(row) * width;
    }

    template <typename... Words> void say(const Words&... words) const
    {
        if (rank == 0) ((std::cout << "heat2d: ") << ... << words) << std::endl;
    }

    std::filesystem::path file_in(const std::string& name) const
    {
        return std::filesystem::path(name) / ("rank." + std::to_string(rank));
    }

    // Reads this rank's file of a checkpoint into `next`, and gives the step it is of.
    std::optional<int> read_file(const scr::Restart& checkpoint)
    {
        try {
            std::array<int, 3> head {};
            std::ifstream file(checkpoint.route(file_in(checkpoint.name())), std::ios::binary);
            file.read(reinterpret_cast<char*>(head.data()), sizeof head);
            file.read(reinterpret_cast<char*>(next.data()), bytes());
            if (file && head[1] == rank && head[2] == options.size) return head[0];
        } catch (const scr::Error&) {
            // This rank has no file in it.
        }
        return std::nullopt;
    }

    void write_file(const scr::Output& dataset) const
    {
        const std::array<int, 3> head { step, rank, options.size };
        std::ofstream file;
        file.exceptions(std::ios::badbit | std::ios::failbit);
        file.open(dataset.route(file_in(dataset.name())), std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(head.data()), sizeof head);
        file.write(reinterpret_cast<const char*>(field.data()), bytes());
        file.close();
    }

    void checkpoint()
    {
        const std::string name = "heat2d." + std::to_string(step);
        bool started = false;
        try {
            scr::Output dataset(name);
            started = true;
            write_file(dataset);
            dataset.commit();
            say("checkpoint ", name);
        } catch (const std::exception&) {
            // All ranks come here: one that cannot write by its own exception, the others by that of
            // commit. The dataset does not count, and older ones stay as they are.
            say("checkpoint ", name, started ? " failed" : " cannot be started",
                ", going on without it");
        }
    }

    // Fetches the neighbours' rows beside ours.
    void exchange_borders()
    {
        const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
        const int below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
        MPI_Sendrecv(row_of(field, 1), width, MPI_DOUBLE, above, 0, row_of(field, rows + 1),
            width, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(row_of(field, rows), width, MPI_DOUBLE, below, 1, row_of(field, 0), width,
            MPI_DOUBLE, above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }

    // One explicit time step; the border of the plate stays as it is.
    void advance()
    {
        for (int j = 1; j <= rows; j++) {
            const double* north = row_of(field, j - 1);
            const double* here = row_of(field, j);
            const double* south = row_of(field, j + 1);
            double* out = row_of(next, j);
            for (int i = 1; i <= options.size; i++) {
                out[i] = here[i]
                    + 0.2 * (here[i - 1] + here[i + 1] + north[i] + south[i] - 4.0 * here[i]);
            }
        }
        for (int j = 1; j <= rows; j++) {
            std::copy_n(row_of(next, j) + 1, options.size, row_of(field, j) + 1);
        }
    }

    // Gathers the field on rank 0, which writes it and prints a sum.
    void finish()
    {
        std::vector<int> counts, offsets;
        for (int r = 0; r < ranks; r++) {
            offsets.push_back(options.size * first_row(r));
            counts.push_back(options.size * first_row(r + 1) - offsets.back());
        }
        std::vector<double> mine;
        for (int j = 1; j <= rows; j++) {
            mine.insert(mine.end(), row_of(field, j) + 1, row_of(field, j) + 1 + options.size);
        }
        const auto size = static_cast<std::size_t>(options.size);
        std::vector<double> whole(rank == 0 ? size * size : 0);
        MPI_Gatherv(mine.data(), static_cast<int>(mine.size()), MPI_DOUBLE, whole.data(),
            counts.data(), offsets.data(), MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank != 0) return;

        std::ostringstream sum;
        sum.precision(16);
        sum << std::scientific << std::accumulate(whole.begin(), whole.end(), 0.0);
        say("finished step ", step, ", sum of the field ", sum.str());
        if (options.output.empty()) return;
        std::ofstream file(options.output, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(whole.data()),
            static_cast<std::streamsize>(whole.size() * sizeof(double)));
        file.close();
        if (!file) throw std::runtime_error("cannot write " + options.output);
    }

    std::streamsize bytes() const
    {
        return static_cast<std::streamsize>(field.size() * sizeof(double));
    }

    Options options;
    int rank, ranks, rows, width;
    int step = 0;
    std::vector<double> field; // (rows + 2) x width, neighbours' rows first and last
    std::vector<double> next;
};

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    try {
        Plate plate(read_arguments(argc, argv, ranks), rank, ranks);
        auto session = scr::Session::start();
        if (session) plate.restart();
        else if (rank == 0) std::cout << "heat2d: SCR is off, going on without checkpoints" << std::endl;
        plate.run(session.has_value());
        if (session) session->finalize();
    } catch (const std::exception& error) {
        if (rank == 0) std::cerr << "heat2d: " << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
