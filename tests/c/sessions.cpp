// scr_session.hpp as a program uses it: a session of all ranks, one of every second rank, and that of MPI_COMM_WORLD are
// open at once, and each restarts from its own checkpoint. Run in an empty prefix directory.

#include "check.hpp"
#include <cstdlib>
#include <fstream>
#include <mpi.h>
#include <scr_session.hpp>
#include <stdexcept>

namespace {

const char* const given_up = "ck.2";

std::string file_in(const std::string& prefix, const std::string& dataset)
{
    return prefix + "/" + dataset + "/rank." + std::to_string(rank);
}

template <typename Output> void write(const Output& dataset, const std::string& prefix)
{
    std::ofstream(dataset.route(file_in(prefix, dataset.name()))) << prefix << dataset.name();
}

template <typename Restart> bool is_read(const Restart& checkpoint, const std::string& prefix)
{
    std::string text;
    std::ifstream(checkpoint.route(file_in(prefix, checkpoint.name()))) >> text;
    return text == prefix + checkpoint.name();
}

struct State {
    int step = 0;
    std::vector<double> grid;

    void list(scr::State& s)
    {
        s.same("step", step);
        s.field("grid", grid);
    }
};

// A phase of each session, one in the other. Guards end in the session in which they began.
void write_datasets(scr::CommSession& whole, scr::CommSession& half)
{
    scr::Output of_world("world");
    scr::CommSession::Output first = whole.output("ck.1");
    write(first, "whole");
    State state { 7, std::vector<double>(3, rank) };
    half.checkpoint(state, "fields");
    write(of_world, ".");
    first.commit();
    CHECK(thrown_by([&] { first.commit(); }) == "SCR_Complete_output");
    CHECK(thrown_by([&] { first.route("late"); }) == "Output::route");
    {
        // Two that are not valid, of which one is moved.
        scr::CommSession::Output left = whole.output("left");
        const scr::CommSession::Output moved(std::move(left));
        write(moved, "whole");
    }
    CHECK(thrown_by([&] {
        const auto dataset = whole.output("thrown", scr::Flags::checkpoint | scr::Flags::output);
        throw std::runtime_error("all processes");
    }) == "all processes");
    auto second = whole.output(given_up);
    write(second, "whole");
    second.commit();
    of_world.commit();

    // No process has failed, so all go on; a dataset that is open does not count.
    CHECK(SCR_Session_start_output(whole.handle(), "lost", SCR_FLAG_CHECKPOINT) == SCR_SUCCESS);
    whole.repair(MPI_COMM_WORLD);
    CHECK(whole.have_restart() == given_up);

    CHECK(!half.checkpoint_if_needed(state));
    CHECK(!whole.should_exit());
    whole.need_checkpoint();
    CHECK(thrown_by([&] { whole.current("never"); }) == "SCR_Current");
}

// ck.2 of one session is given up while a checkpoint of another one is read.
void restart(scr::CommSession& whole, scr::CommSession& half)
{
    auto of_world = scr::Restart::next();
    CHECK(of_world && of_world->name() == "world");
    std::vector<std::string> tried;
    whole.allow_other_ranks();
    CHECK(whole.have_restart() == given_up);
    while (auto checkpoint = whole.next_restart()) {
        tried.push_back(checkpoint->name());
        if (checkpoint->name() == given_up) continue;
        CHECK(checkpoint->ranks() == ranks && checkpoint->files(rank).size() == 1);
        CHECK(is_read(*checkpoint, "whole"));
        if (checkpoint->commit()) break;
    }
    CHECK((tried == std::vector<std::string> { given_up, "ck.1" }));
    State state;
    CHECK(half.restore(state) && state.step == 7 && state.grid == std::vector<double>(3, rank));
    CHECK(is_read(*of_world, "."));
    CHECK(of_world->commit());
    whole.remove("ck.1");
}

void bad_input()
{
    CHECK(thrown_by([] { scr::CommSession session(MPI_COMM_WORLD, "a/b"); }) == "SCR_Session_create");
    CHECK(was_told("a/b"));
    CHECK(thrown_by([] { scr::CommSession session(MPI_COMM_NULL, "a"); }) == "SCR_Session_create");
    CHECK(thrown_by([] { scr::repair(MPI_COMM_NULL); }) == "SCR_Session_repair");
    {
        scr::CommSession early(MPI_COMM_WORLD, "early");
        early.repair(MPI_COMM_WORLD); // begins it, and the destructor ends it
        CHECK(!early.have_restart());
    }
    scr::CommSession session(MPI_COMM_WORLD, "unused");
    CHECK(thrown_by([&] { session.have_restart(); }) == "SCR_Have_restart");
    CHECK(thrown_by([&] { session.repair(MPI_COMM_NULL); }) == "SCR_Session_repair");
    const scr::CommSession moved(std::move(session));
    CHECK(moved.handle() != SCR_SESSION_NULL && moved.name() == "unused");
    CHECK(thrown_by([&] { session.init(); }) == "SCR_Init");
}

// While SCR is off nothing is thrown, in no session.
void off(scr::CommSession& session)
{
    CHECK(!session.init());
    CHECK(!session.next_restart() && !session.need_checkpoint() && !session.should_exit());
    State state { 7, {} };
    CHECK(!session.restore(state) && state.step == 7);
    session.checkpoint(state);
    CHECK(!session.checkpoint_if_needed(state));
    auto dataset = session.output("off");
    CHECK(dataset.route("off/file") == "off/file");
    dataset.commit();
    session.current("off");
    session.repair(MPI_COMM_WORLD);
    CHECK(!session.have_restart());
    session.finalize();
}

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::string name = "half." + std::to_string(rank % 2);
    MPI_Comm half_comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half_comm);

    bad_input();
    for (const bool again : { false, true }) {
        const scr::Session world;
        scr::CommSession whole(MPI_COMM_WORLD, "whole");
        scr::CommSession half(half_comm, name);
        CHECK(!half.config("SCR_FLUSH=7"));
        CHECK(half.config("SCR_FLUSH") == "7" && whole.config("SCR_FLUSH") != "7");
        whole.init();
        half.init();
        CHECK(whole.route("some/file") == "some/file");
        if (again) restart(whole, half);
        else write_datasets(whole, half);
        half.finalize();
        half.finalize(); // is done
        CHECK(thrown_by([&] { half.should_exit(); }) == "SCR_Should_exit");
        // The others are ended by their destructors.
    }
    MPI_Comm_free(&half_comm);
    setenv("SCR_ENABLE", "0", 1);
    CHECK(thrown_by([] {
        scr::CommSession session(MPI_COMM_WORLD, "off");
        off(session);
    }).empty());

    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
