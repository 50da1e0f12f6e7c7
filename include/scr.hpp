// The Scalable Checkpoint / Restart library for C++17: scr.h with errors as exceptions, and datasets that
// end with their scope.
//
//     scr::Session session;                        // after MPI_Init
//     while (auto checkpoint = scr::Restart::next()) {
//         const bool read = load(checkpoint->route(my_file));
//         if (checkpoint->commit(read)) break;     // all processes have read it
//     }
//     ...
//     scr::Output dataset("ck.10");
//     save(dataset.route(my_file));                // may throw
//     dataset.commit();                            // valid only from here on
//     ...
//     session.finalize();                          // before MPI_Finalize
//
// Collective calls, made by all processes of MPI_COMM_WORLD in the same order: all but route, version,
// name, and what Restart tells of the ranks that wrote a checkpoint. The constructors and destructors of
// Session and Output are collective, and so is the destructor of Restart. A process that leaves the
// scope of an Output by an exception or an early return takes part in the same call as the others in
// commit(): it says that the dataset is not valid, and commit() throws on the others. So each process
// has to leave the scope, and must call nothing collective between the error and the end of the scope. So it
// is with a Restart, but that an exception does not give the checkpoint up: only commit(false) does, and
// the end of the scope without commit().
//
// While SCR is off (SCR_ENABLE=0) no call throws: nothing is offered, needed or written, and a file is where the
// program names it. init() tells it.
//
// What C says of a call (man SCR_Start_output) holds here, too. No destructor throws, and no call is
// made from several threads at once. Only this header is needed, and libscr. It includes scr_fields.hpp, with
// checkpoints of arrays in memory: one routine lists the program's state, and there is no file.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef SCR_HPP
#define SCR_HPP

#include <array>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <scr.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// In libscr, and not for C: 1 while the session of this thread's calls is off (SCR_ENABLE=0). Local.
extern "C" int scr_is_off(void);

namespace scr {

// A call that failed, and why. What SCR has found it has told on standard error, too.
class Error : public std::runtime_error {
public:
    Error(const std::string& call, int code, const std::string& subject = {}, const std::string& reason = {})
        : std::runtime_error(call + " failed" + (subject.empty() ? "" : " for " + subject)
              + " (code " + std::to_string(code) + ")" + (reason.empty() ? "" : ": " + reason)),
          call_(call), code_(code), reason_(reason)
    {
    }

    // The name of the call in C.
    const std::string& call() const noexcept { return call_; }

    // What it returned; not SCR_SUCCESS.
    int code() const noexcept { return code_; }

    // The error of SCR, with its code, such as SCR-110, if it has one. what() ends with it.
    const std::string& reason() const noexcept { return reason_; }

private:
    std::string call_;
    int code_;
    std::string reason_;
};

// What a dataset is for. Both: Flags::checkpoint | Flags::output.
enum class Flags : int {
    none = SCR_FLAG_NONE,
    checkpoint = SCR_FLAG_CHECKPOINT, // the program can restart from it
    output = SCR_FLAG_OUTPUT // somebody wants it in the prefix directory
};

constexpr Flags operator|(Flags a, Flags b) noexcept
{
    return static_cast<Flags>(static_cast<int>(a) | static_cast<int>(b));
}

namespace detail {

using Buffer = std::array<char, SCR_MAX_FILENAME>;

// While SCR is off no call succeeds, and none matters.
inline bool off() noexcept
{
    return scr_is_off() != 0;
}

inline void check(const char* call, int code, const std::string& subject = {})
{
    if (code != SCR_SUCCESS && !off()) throw Error(call, code, subject, SCR_Reason());
}

inline bool ask(const char* call, int (*question)(int*))
{
    int answer = 0;
    check(call, question(&answer));
    return answer != 0;
}

} // namespace detail

// Sets ("NAME=value") or unsets ("NAME=") a parameter, before init; or tells its value ("NAME"), if it
// has one.
inline std::optional<std::string> config(const std::string& text)
{
    struct Free {
        void operator()(const char* value) const noexcept { std::free(const_cast<char*>(value)); }
    };
    const std::unique_ptr<const char, Free> value(SCR_Config(text.c_str()));
    return value ? std::optional<std::string>(value.get()) : std::nullopt;
}

// Starts SCR. False if it is off: the program goes on without.
inline bool init()
{
    detail::check("SCR_Init", SCR_Init());
    return !detail::off();
}

// Stops SCR, and brings the newest checkpoint to the prefix directory.
inline void finalize()
{
    // Afterwards nothing is off any more.
    const bool off = detail::off();
    const int code = SCR_Finalize();
    if (!off) detail::check("SCR_Finalize", code);
}

// The path at which to access a file. Local.
inline std::filesystem::path route(const std::filesystem::path& file)
{
    detail::Buffer path {};
    detail::check("SCR_Route_file", SCR_Route_file(file.c_str(), path.data()), file.string());
    return detail::off() ? file : std::filesystem::path(path.data());
}

// Says whether this program can restart from a checkpoint of another number of processes.
inline void allow_other_ranks(bool allowed = true)
{
    detail::check("SCR_Allow_other_ranks", SCR_Allow_other_ranks(allowed));
}

// The name of the checkpoint to restart from, if there is one.
inline std::optional<std::string> have_restart()
{
    int have = 0;
    detail::Buffer name {};
    detail::check("SCR_Have_restart", SCR_Have_restart(&have, name.data()));
    return have != 0 ? std::optional<std::string>(name.data()) : std::nullopt;
}

inline bool need_checkpoint()
{
    return detail::ask("SCR_Need_checkpoint", SCR_Need_checkpoint);
}

inline bool should_exit()
{
    return detail::ask("SCR_Should_exit", SCR_Should_exit);
}

// Makes a checkpoint the one to restart from.
inline void current(const std::string& name)
{
    detail::check("SCR_Current", SCR_Current(name.c_str()), name);
}

// Removes a dataset from the index, and no file.
inline void drop(const std::string& name)
{
    detail::check("SCR_Drop", SCR_Drop(name.c_str()), name);
}

// Removes a dataset with its files: SCR_Delete, whose name is no name in C++.
inline void remove(const std::string& name)
{
    detail::check("SCR_Delete", SCR_Delete(name.c_str()), name);
}

// Version of the interface, like "v3.1.0". Local, at any time.
inline std::string version()
{
    return SCR_Get_version();
}

// SCR from init to finalize. Make it after MPI_Init, and end it before MPI_Finalize.
class Session {
public:
    Session() : enabled_(init()) { }

    // Nothing if SCR is off or cannot start: the program can go on without.
    static std::optional<Session> start()
    {
        try {
            Session session;
            if (session.enabled_) return session;
            session.open_ = false;
            return std::nullopt;
        } catch (const Error&) {
            return std::nullopt;
        }
    }

    Session(Session&& other) noexcept
        : enabled_(other.enabled_), open_(std::exchange(other.open_, false))
    {
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    Session& operator=(Session&&) = delete;

    // False if SCR is off.
    bool enabled() const noexcept { return enabled_; }

    // Stops SCR unless finalize() did. Not while an exception leaves the scope: other processes, which
    // do not see it, would not take part. Such a program has to end, and its checkpoints stay.
    ~Session()
    {
        if (open_ && std::uncaught_exceptions() == exceptions_) SCR_Finalize();
    }

    // Stops SCR, and says if that fails.
    void finalize()
    {
        if (std::exchange(open_, false)) scr::finalize();
    }

private:
    bool enabled_;
    bool open_ = true;
    int exceptions_ = std::uncaught_exceptions();
};

// A dataset that is being written. It is valid only if all processes call commit().
class Output {
public:
    // Begins it. If that throws, which it does on all processes, nothing must be written.
    explicit Output(std::string name, Flags flags = Flags::checkpoint) : name_(std::move(name))
    {
        detail::check("SCR_Start_output",
            SCR_Start_output(name_.c_str(), static_cast<int>(flags)), name_);
    }

    Output(Output&& other) noexcept
        : name_(std::move(other.name_)), open_(std::exchange(other.open_, false))
    {
    }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    Output& operator=(Output&&) = delete;

    // Without commit() the dataset is not valid: it is dropped, and older ones stay.
    ~Output()
    {
        if (open_) SCR_Complete_output(0);
    }

    const std::string& name() const noexcept { return name_; }

    // Makes a file part of the dataset, and tells the path at which to write it. Local.
    std::filesystem::path route(const std::filesystem::path& file) const
    {
        // Outside of the dataset SCR would give the name as it is, of a file that may be older.
        if (!open_) throw Error("Output::route", 1, file.string() + ", as " + name_ + " is complete");
        return scr::route(file);
    }

    // Ends the dataset when all files are closed. A process that had none calls it, too, and one that
    // could not write its files passes false. Throws on all processes unless all passed true and the
    // data are protected as configured.
    void commit(bool valid = true)
    {
        if (!std::exchange(open_, false)) throw Error("SCR_Complete_output", 1, name_, "the dataset is complete");
        detail::check("SCR_Complete_output", SCR_Complete_output(valid), name_);
    }

private:
    std::string name_;
    bool open_ = true;
};

// A checkpoint that is being read.
class Restart {
public:
    // Begins to read the newest checkpoint that was not given up yet. Nothing if there is none: the
    // program starts from the beginning.
    static std::optional<Restart> next()
    {
        if (!have_restart()) return std::nullopt;
        detail::Buffer name {};
        detail::check("SCR_Start_restart", SCR_Start_restart(name.data()));
        return Restart(name.data());
    }

    Restart(Restart&& other) noexcept
        : name_(std::move(other.name_)), open_(std::exchange(other.open_, false)),
          exceptions_(other.exceptions_)
    {
    }
    Restart(const Restart&) = delete;
    Restart& operator=(const Restart&) = delete;
    Restart& operator=(Restart&&) = delete;

    // Without commit() this checkpoint is given up. Not while an exception leaves the scope, which may have
    // any reason: then the checkpoint stays, next() throws in this run, and the next run restarts from it.
    ~Restart()
    {
        const bool thrown = std::uncaught_exceptions() > exceptions_;
        if (open_) SCR_Complete_restart(thrown ? SCR_NOT_READ : 0);
    }

    const std::string& name() const noexcept { return name_; }

    // The path at which to read a file. Throws if it is not there. Local.
    std::filesystem::path route(const std::filesystem::path& file) const
    {
        if (!open_) throw Error("Restart::route", 1, file.string() + ", as " + name_ + " is complete");
        return scr::route(file);
    }

    // How many processes wrote the checkpoint. Local.
    int ranks() const
    {
        int ranks = 0;
        detail::check("SCR_Restart_ranks", SCR_Restart_ranks(&ranks));
        return ranks;
    }

    // The files that one of them wrote, for route(). Local.
    std::vector<std::filesystem::path> files(int rank) const
    {
        int count = 0;
        const std::string subject = "rank " + std::to_string(rank);
        detail::check("SCR_Restart_file_count", SCR_Restart_file_count(rank, &count), subject);
        std::vector<std::filesystem::path> files;
        for (int index = 0; index < count; index++) {
            detail::Buffer name {};
            detail::check("SCR_Restart_file", SCR_Restart_file(rank, index, name.data()), subject);
            files.emplace_back(name.data());
        }
        return files;
    }

    // Ends it: did this process read all its files? True if all did. Otherwise next() has an older
    // checkpoint, and what was read has to be initialised again on all processes. commit(false) says that
    // the checkpoint is bad, and gives it up; an exception of which that is known has to be caught.
    [[nodiscard]] bool commit(bool valid = true)
    {
        return std::exchange(open_, false) && SCR_Complete_restart(valid) == SCR_SUCCESS;
    }

private:
    explicit Restart(std::string name) : name_(std::move(name)) { }

    std::string name_;
    bool open_ = true;
    int exceptions_ = std::uncaught_exceptions();
};

} // namespace scr

// Each of them uses what is before it.
#include <scr_arrays.hpp>
#include <scr_fields.hpp>

#endif // SCR_HPP
