// Sessions on communicators for C++17: scr_session.h in the manner of scr.hpp.
//
//     scr::CommSession ocean(comm, "ocean");       // after MPI_Init
//     ocean.config("SCR_FLUSH=5");                 // if at all, before init
//     ocean.init();
//     while (auto checkpoint = ocean.next_restart()) {
//         const bool read = load(checkpoint->route(my_file));
//         if (checkpoint->commit(read)) break;
//     }
//     ...
//     auto dataset = ocean.output("ck.10");
//     save(dataset.route(my_file));
//     dataset.commit();
//     ...
//     ocean.finalize();                            // before MPI_Finalize
//
// Several sessions can be open at once, on communicators that overlap. What scr.hpp says of Session, Output and
// Restart holds here, too, for the processes of the session in the place of those of MPI_COMM_WORLD. The name, which
// is the same on all of them, is a word of letters, digits, '-', '_' and '.', and names a directory below SCR_PREFIX.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef SCR_SESSION_HPP
#define SCR_SESSION_HPP

#include <exception>
#include <filesystem>
#include <optional>
#include <scr.hpp>
#include <scr_session.h>
#include <string>
#include <utility>
#include <vector>

namespace scr {

namespace detail {

// Makes a session that of the calls of a scope.
class Entered {
public:
    explicit Entered(SCR_Session session) noexcept : before_(SCR_Session_enter(session)) { }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
    ~Entered() { SCR_Session_enter(before_); }

private:
    SCR_Session before_;
};

// An Output or a Restart of a session, each call of which reaches that session.
template <typename Guard> class Guarded {
public:
    Guarded(SCR_Session session, Guard&& guard) : session_(session), guard_(std::move(guard)) { }
    Guarded(Guarded&&) = default;
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;
    Guarded& operator=(Guarded&&) = delete;

    ~Guarded()
    {
        const Entered entered(session_);
        guard_.reset();
    }

    const std::string& name() const noexcept { return guard_->name(); }

    std::filesystem::path route(const std::filesystem::path& file) const
    {
        const Entered entered(session_);
        return guard_->route(file);
    }

protected:
    SCR_Session session_;
    std::optional<Guard> guard_; // always there, but that it has to end while the session is entered
};

} // namespace detail

// A session over the processes of a communicator. It has its own prefix directory, cache, state and parameters.
class CommSession {
public:
    // A dataset that is being written; see scr::Output.
    class Output : public detail::Guarded<scr::Output> {
    public:
        using Guarded::Guarded;

        void commit(bool valid = true)
        {
            const detail::Entered entered(session_);
            guard_->commit(valid);
        }
    };

    // A checkpoint that is being read; see scr::Restart.
    class Restart : public detail::Guarded<scr::Restart> {
    public:
        using Guarded::Guarded;

        int ranks() const
        {
            const detail::Entered entered(session_);
            return guard_->ranks();
        }

        std::vector<std::filesystem::path> files(int rank) const
        {
            const detail::Entered entered(session_);
            return guard_->files(rank);
        }

        [[nodiscard]] bool commit(bool valid = true)
        {
            const detail::Entered entered(session_);
            return guard_->commit(valid);
        }
    };

    // Makes the session, which init() starts. `comm` is duplicated, and can be freed. Where processes are in repair()
    // of the session of this name, this one joins it; init() does nothing then. Collective.
    CommSession(MPI_Comm comm, const std::string& name) : name_(name)
    {
        detail::check("SCR_Session_create", SCR_Session_create(comm, name.c_str(), &session_), name);
    }

    CommSession(CommSession&& other) noexcept
        : name_(std::move(other.name_)), session_(std::exchange(other.session_, SCR_SESSION_NULL)),
          open_(std::exchange(other.open_, false)), exceptions_(other.exceptions_)
    {
    }
    CommSession(const CommSession&) = delete;
    CommSession& operator=(const CommSession&) = delete;
    CommSession& operator=(CommSession&&) = delete;

    // Stops and frees the session unless finalize() did. Not while an exception leaves the scope, as with Session.
    ~CommSession()
    {
        if (session_ == SCR_SESSION_NULL || std::uncaught_exceptions() != exceptions_) return;
        if (open_) SCR_Session_finalize(session_);
        SCR_Session_free(&session_);
    }

    const std::string& name() const noexcept { return name_; }

    // For parts of the program in C.
    SCR_Session handle() const noexcept { return session_; }

    // Starts it; false if SCR is off.
    bool init()
    {
        const detail::Entered entered(session_);
        const bool enabled = scr::init();
        open_ = true;
        return enabled;
    }

    // Stops the session and frees it: no other call of it can follow.
    void finalize()
    {
        if (session_ == SCR_SESSION_NULL) return;
        const bool stops = std::exchange(open_, false) && !off();
        const int stopped = stops ? SCR_Session_finalize(session_) : SCR_SUCCESS;
        // One that could not be stopped cannot be freed either.
        const std::string reason = stopped == SCR_SUCCESS ? "" : SCR_Reason();
        const int freed = SCR_Session_free(&session_);
        if (stopped != SCR_SUCCESS) throw Error("SCR_Finalize", stopped, name_, reason);
        detail::check("SCR_Session_free", freed, name_);
    }

    // Goes on after processes have failed, on those of `comm`: the survivors, and others that take the places of lost
    // ones, and construct the session. If none has a run, since one failed in init(), it begins one. If it throws it can
    // be called again, on yet another communicator.
    void repair(MPI_Comm comm)
    {
        const int repaired = SCR_Session_repair(session_, comm);
        const detail::Entered entered(session_);
        detail::check("SCR_Session_repair", repaired, name_);
        open_ = true;
    }

    std::optional<std::string> config(const std::string& text)
    {
        const detail::Entered entered(session_);
        return scr::config(text);
    }

    std::filesystem::path route(const std::filesystem::path& file)
    {
        const detail::Entered entered(session_);
        return scr::route(file);
    }

    void allow_other_ranks(bool allowed = true)
    {
        const detail::Entered entered(session_);
        scr::allow_other_ranks(allowed);
    }

    std::optional<std::string> have_restart()
    {
        const detail::Entered entered(session_);
        return scr::have_restart();
    }

    bool need_checkpoint()
    {
        const detail::Entered entered(session_);
        return scr::need_checkpoint();
    }

    bool should_exit()
    {
        const detail::Entered entered(session_);
        return scr::should_exit();
    }

    void current(const std::string& name)
    {
        const detail::Entered entered(session_);
        scr::current(name);
    }

    void drop(const std::string& name)
    {
        const detail::Entered entered(session_);
        scr::drop(name);
    }

    void remove(const std::string& name)
    {
        const detail::Entered entered(session_);
        scr::remove(name);
    }

    // Begins a dataset, as the constructor of scr::Output.
    Output output(const std::string& name, Flags flags = Flags::checkpoint)
    {
        const detail::Entered entered(session_);
        return Output(session_, scr::Output(name, flags));
    }

    // Begins to read the newest checkpoint that was not given up yet, as scr::Restart::next.
    std::optional<Restart> next_restart()
    {
        const detail::Entered entered(session_);
        auto next = scr::Restart::next();
        return next ? std::optional<Restart>(Restart(session_, std::move(*next))) : std::nullopt;
    }

    template <typename List>
    void checkpoint(List&& list, const std::string& name = {}, Flags flags = Flags::checkpoint)
    {
        const detail::Entered entered(session_);
        scr::checkpoint(std::forward<List>(list), name, flags);
    }

    template <typename List> bool checkpoint_if_needed(List&& list)
    {
        const detail::Entered entered(session_);
        return scr::checkpoint_if_needed(std::forward<List>(list));
    }

    template <typename List> bool restore(List&& list)
    {
        const detail::Entered entered(session_);
        return scr::restore(std::forward<List>(list));
    }

private:
    bool off() const noexcept
    {
        const detail::Entered entered(session_);
        return detail::off();
    }

    std::string name_;
    SCR_Session session_ = SCR_SESSION_NULL;
    bool open_ = false;
    int exceptions_ = std::uncaught_exceptions();
};

// As CommSession::repair, for the session of MPI_COMM_WORLD. New processes call it, too.
inline void repair(MPI_Comm comm)
{
    detail::check("SCR_Session_repair", SCR_Session_repair(SCR_SESSION_WORLD, comm));
}

} // namespace scr

#endif // SCR_SESSION_HPP
