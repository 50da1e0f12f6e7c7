// scr.hpp as a program uses it: datasets end with their scope, and errors are exceptions. Run in an empty
// prefix directory.

#include "check.hpp"
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mpi.h>
#include <new>
#include <scr.hpp>

namespace fs = std::filesystem;

namespace {

fs::path file_of(const std::string& name)
{
    return fs::path(name) / ("rank." + std::to_string(rank));
}

void write(const scr::Output& dataset)
{
    std::ofstream(dataset.route(file_of(dataset.name()))) << dataset.name() << rank;
}

std::string read(const scr::Restart& checkpoint)
{
    std::string text;
    std::ifstream(checkpoint.route(file_of(checkpoint.name()))) >> text;
    return text;
}

bool in_index(const std::string& name)
{
    std::ifstream index(".scr/index.scr", std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(index)), {});
    MPI_Barrier(MPI_COMM_WORLD);
    return bytes.find(name) != std::string::npos;
}

void begin()
{
    CHECK(scr::version() == SCR_VERSION);
    CHECK(thrown_by([] { scr::should_exit(); }) == "SCR_Should_exit");
    CHECK(was_told("(SCR-110)"));
    CHECK(scr::route("some/file") == "some/file");
    CHECK(!scr::config("SCR_FLUSH=3").has_value());
    CHECK(scr::config("SCR_FLUSH") == "3");
    CHECK(!scr::config("SCR_FLUSH=").has_value());
    CHECK(!scr::config("SCR_FLUSH").has_value());
    scr::config("SCR_CHECKPOINT_INTERVAL=1");
}

void write_datasets()
{
    CHECK(!scr::have_restart().has_value());
    CHECK(!scr::Restart::next().has_value());
    CHECK(scr::need_checkpoint());
    CHECK(!scr::should_exit());

    for (const char* name : { "ck.1", "ck.2", "ck.3" }) {
        scr::Output dataset(name);
        write(dataset);
        dataset.commit();
        CHECK(thrown_by([&] { dataset.commit(); }) == "SCR_Complete_output");
        CHECK(was_told("the dataset is complete"));
        CHECK(thrown_by([&] { dataset.route("late"); }) == "Output::route");
    }

    // An exception on one process. The others learn of it in commit.
    const int last = ranks - 1;
    const std::string thrown = thrown_by([&] {
        scr::Output dataset("thrown");
        write(dataset);
        if (rank == last) throw std::runtime_error("disk on fire");
        dataset.commit();
    });
    CHECK(thrown == (rank == last ? "disk on fire" : "SCR_Complete_output"));
    CHECK(rank == last || was_told("rank " + std::to_string(last)));

    // An early return on all, and a process that says that its files are not good.
    [] {
        const scr::Output dataset("returned");
        write(dataset);
    }();
    CHECK(thrown_by([&] {
        scr::Output dataset("invalid", scr::Flags::checkpoint | scr::Flags::output);
        write(dataset);
        dataset.commit(rank != last);
    }) == "SCR_Complete_output");

    // A start that fails begins nothing, and a second one inside of a dataset changes nothing.
    CHECK(thrown_by([] { scr::Output(std::string(SCR_MAX_FILENAME, 'x')); }) == "SCR_Start_output");
    scr::Output outer("ck.4", scr::Flags::checkpoint | scr::Flags::output);
    CHECK(thrown_by([] { scr::Output inner("inner"); }) == "SCR_Start_output");
    scr::Output moved(std::move(outer));
    write(moved);
    moved.commit();
    CHECK(in_index("ck.4"));
}

// An exception of one process in a restart gives no checkpoint up, and the run gets none.
void interrupted_restart()
{
    const std::string thrown = thrown_by([] {
        auto checkpoint = scr::Restart::next();
        CHECK(checkpoint && checkpoint->name() == "ck.4");
        const scr::Restart mine(std::move(*checkpoint));
        if (rank == 0) throw std::bad_alloc();
    });
    CHECK(thrown == (rank == 0 ? std::bad_alloc().what() : ""));
    CHECK(thrown_by([] { scr::Restart::next(); }) == "SCR_Have_restart");
    CHECK(thrown_by([] { scr::Restart::next(); }) == "SCR_Have_restart");
}

// Only valid datasets are offered. ck.4 is given up by one process, ck.3 by a return of all, ck.2 is read.
void restart()
{
    std::vector<std::string> tried;
    while (auto checkpoint = scr::Restart::next()) {
        tried.push_back(checkpoint->name());
        CHECK(checkpoint->ranks() == ranks);
        const auto files = checkpoint->files(rank);
        CHECK(files.size() == 1 && files.front().filename() == file_of("x").filename());
        CHECK(thrown_by([&] { checkpoint->files(ranks); }) == "SCR_Restart_file_count");
        if (checkpoint->name() == "ck.4") {
            CHECK(thrown_by([&] { checkpoint->route("not/there"); }) == "SCR_Route_file");
            CHECK(was_told("not/there"));
            CHECK(!checkpoint->commit(rank != 0));
            continue;
        }
        CHECK(read(*checkpoint) == checkpoint->name() + std::to_string(rank));
        if (checkpoint->name() == "ck.3") continue;
        const bool all = checkpoint->commit();
        CHECK(all);
        CHECK(!checkpoint->commit());
        CHECK(thrown_by([&] { checkpoint->route("late"); }) == "Restart::route");
        break;
    }
    CHECK((tried == std::vector<std::string> { "ck.4", "ck.3", "ck.2" }));

    scr::drop("ck.1");
    scr::remove("ck.2");
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(fs::exists("ck.1") && !fs::exists("ck.2"));
    CHECK(!in_index("ck.1"));
    CHECK(thrown_by([] { scr::current("never"); }) == "SCR_Current");
}

// Whatever a program calls while SCR is off, nothing is thrown: it runs as without SCR.
void off()
{
    CHECK(!scr::Session::start().has_value());
    {
        scr::Session session;
        CHECK(!session.enabled());
        scr::allow_other_ranks();
        CHECK(!scr::have_restart());
        CHECK(!scr::Restart::next());
        CHECK(!scr::need_checkpoint() && !scr::should_exit());
        scr::Output dataset("off");
        CHECK(dataset.route("off/file") == "off/file");
        dataset.commit();
        CHECK(scr::route("file") == "file");
        {
            const scr::Output left("left");
        }
        scr::current("off");
        scr::drop("off");
        scr::remove("off");

        int value = 1;
        const auto list = [&value](scr::State& s) {
            value = 2;
            s.field("value", value);
        };
        CHECK(!scr::restore(list));
        scr::checkpoint(list, "off");
        CHECK(!scr::checkpoint_if_needed(list));
        CHECK(value == 1);
        session.finalize();
    }
    CHECK(!scr::init());
    scr::finalize();
}

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    begin();
    {
        scr::Session session;
        CHECK(thrown_by([] { scr::init(); }) == "SCR_Init");
        scr::allow_other_ranks();
        write_datasets();
        session.finalize();
        session.finalize(); // is done
    }
    {
        // Of what it catches, the program goes on in the scope of the session.
        const auto session = scr::Session::start();
        CHECK(session.has_value());
        interrupted_restart();
    }
    {
        // Ended by its destructor.
        const scr::Session session;
        restart();
    }
    CHECK(thrown_by([] { scr::finalize(); }) == "SCR_Finalize");

    // Left by an exception it is not ended, as other processes might not take part.
    CHECK(thrown_by([] {
        const scr::Session session;
        throw std::runtime_error("one process");
    }) == "one process");
    CHECK(thrown_by([] { scr::finalize(); }).empty());

    scr::config("SCR_ENABLE=0");
    CHECK(thrown_by(off).empty());

    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
