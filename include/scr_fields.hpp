// Checkpoints of fields for C++17. The program lists its state in one callable, which SCR calls to write it and
// to read it. Part of scr.hpp.
//
//     auto state = [&](scr::State& s) {
//         s.field("density", scr::view(density, {rows, columns}), {all_rows, columns}, {first_row, 0});
//         s.field("mine", mine);              // this process's own
//         s.same("step", step);               // the same on all processes
//         s.index("nodes", ids, all_nodes);   // the numbers of this process's nodes, in any order
//         s.field("heat", heat, scr::by("nodes"));
//         s.list("cells", cells);             // objects with a member void list(scr::State&)
//     };
//     const bool found = scr::restore(state); // before the loop
//     ...
//     if (scr::checkpoint_if_needed(state)) break;
//
// A field may be in memory of a device; docs/gpu.md says more.
//
// docs/fields.md explains the sorts of fields, and what a restart does; scr_arrays.hpp has what can be a field.
// A std::vector or std::string that is no part of a whole, and has no index list, is resized to what is stored, when it
// is read.
//
// An exception that leaves the callable makes the checkpoint, or the restart, fail on all processes. It is thrown
// again by the call that called the callable, and the other processes throw scr::Error.
//
// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef SCR_FIELDS_HPP
#define SCR_FIELDS_HPP

#ifndef SCR_HPP
#error "include scr.hpp"
#endif

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace scr {

class State;

// Why the callable is called. One that only lists fields need not know it.
enum class Pass : int { write = SCR_PASS_WRITE, compare = SCR_PASS_COMPARE, read = SCR_PASS_READ };

// The way of bytes that a function of the program copies: out of a field, or into it.
enum class Direction : int { out = SCR_COPY_OUT, in = SCR_COPY_IN };

// Copies bytes of a field from `from` to `to`, one of which is memory of the processor, and returns when that is done. An
// exception makes the checkpoint, or the restart, fail.
using Copy = std::function<void(void* to, const void* from, std::size_t bytes, Direction direction)>;

// What the checkpoint that is read has of a field.
struct Stored {
    int type; // SCR_Type
    Numbers extents; // of this process's array; of the whole, if another number of processes wrote parts of it
    Numbers whole, at; // 0 if there is no whole
};

// The name of the index list of a field. Made by scr::by.
class By {
public:
    const std::string& name() const noexcept { return name_; }

private:
    friend By by(const std::string& name);
    // Of two arguments, so that {0} is an index in a whole and never a name.
    struct Made { };
    By(Made, const std::string& name) : name_(name) { }

    std::string name_;
};

// The elements of a field are those of an index list, which State::index has listed before.
inline By by(const std::string& name)
{
    return By(By::Made {}, name);
}

namespace detail {

template <typename T> using ListMember = decltype(std::declval<T&>().list(std::declval<State&>()));
template <typename T, typename = void> struct HasList : std::false_type { };
template <typename T> struct HasList<T, std::void_t<ListMember<T>>> : std::true_type { };

// Lists what a callable or an object lists.
template <typename Part> void list_part(Part& part, State& state)
{
    if constexpr (std::is_invocable_v<Part&, State&>) part(state);
    else if constexpr (std::is_invocable_v<Part&>) part();
    else if constexpr (HasList<Part>::value) part.list(state);
    else static_assert(HasList<Part>::value, "an object that is listed has a member void list(scr::State&)");
}

} // namespace detail

// The list of a program's state, while its callable runs. All calls are local, with the same names and types in the
// same order on all processes. What fails throws scr::Error, and the checkpoint, or the restart, fails.
class State {
public:
    explicit State(SCR_State* state) : state_(state)
    {
        int pass = 0;
        detail::check("SCR_Pass", SCR_Pass(state, &pass));
        pass_ = static_cast<Pass>(pass);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    // Lists a field of this process's own, which only the same number of processes restores.
    template <typename T> void field(const std::string& name, T&& data, Options options = {})
    {
        put(name, std::forward<T>(data), options, {});
    }

    // Lists this process's part of an array of all processes, which has the extents `whole`. `at` is the index in it
    // of this process's first element. Any number of processes restores it, in any parts.
    template <typename T>
    void field(const std::string& name, T&& data, const Numbers& whole, const Numbers& at, Options options = {})
    {
        put(name, std::forward<T>(data), options, { false, &whole, &at, nullptr });
    }

    // Lists a field whose elements are those of an index list, in the order of the list: s.field("heat", heat,
    // scr::by("nodes")). The first dimension of `data` has one place for each index (in Order::column the last). Any
    // number of processes restores it, with any index lists. Only the vector of a bag is resized.
    template <typename T> void field(const std::string& name, T&& data, const By& index, Options options = {})
    {
        put(name, std::forward<T>(data), options, { false, nullptr, nullptr, &index });
    }

    // Lists which elements of a whole this process has: element i of its arrays is element ids[i] of the whole, whose
    // first one has the number `first`. `ids` is a container of integers, or scr::view(pointer, {count}). All
    // processes together write each index once, or with Options {}.shared() several processes that have equal copies of
    // its elements; to read, each lists those that it has now, in any order.
    template <typename Ids>
    void index(const std::string& name, const Ids& ids, std::int64_t whole, std::int64_t first = 0,
        Options options = {})
    {
        const detail::IdList list(name, ids);
        next(options);
        detail::check("SCR_Index",
            SCR_Index(state_, name.c_str(), list.data(), list.type(), list.count(), first, whole), name);
    }

    // Lists a field that is the same on all processes: a checkpoint fails if it is not.
    template <typename T> void same(const std::string& name, T&& data, Options options = {})
    {
        put(name, std::forward<T>(data), options, { true, nullptr, nullptr, nullptr });
    }

    // Lists elements without an index, such as particles: `number` of them on this process, for the fields by(name)
    // that follow. Gives how many this process gets, when the state is read: on as many processes those that it wrote,
    // on another number an equal share. A vector of such a field is resized.
    template <typename N> N bag(const std::string& name, N number)
    {
        static_assert(std::is_integral_v<N>, "a count is an integer");
        auto wide = static_cast<std::int64_t>(number);
        detail::check("SCR_Bag", SCR_Bag(state_, name.c_str(), &wide), name);
        bags_.emplace_back(name, wide);
        return narrow<N>("SCR_Bag", name, wide);
    }

    // Lists a bag that another number of processes gets in the order of a key: the name of a field of it, which has a
    // number for each element. Each process gets an equal share.
    template <typename N> N bag(const std::string& name, N number, const std::string& key)
    {
        return bag_by_key(name, number, key, nullptr, nullptr);
    }

    // Lists a bag whose elements on another number of processes go to those that `owner` tells: it gets the key of an
    // element, an integer, and gives the rank. An exception of it makes the restart fail.
    template <typename N, typename Owner>
    N bag(const std::string& name, N number, const std::string& key, Owner&& owner)
    {
        static_assert(std::is_invocable_r_v<int, Owner&, std::int64_t>, "an owner is int(std::int64_t key)");
        struct Asked {
            std::remove_reference_t<Owner>* owner;
            std::exception_ptr thrown;
        } asked { &owner, nullptr };
        const auto ask = [](const std::int64_t* keys, std::int64_t count, int* ranks, void* context) {
            auto& by = *static_cast<Asked*>(context);
            try {
                for (std::int64_t i = 0; i < count; i++) ranks[i] = (*by.owner)(keys[i]);
                return 0;
            } catch (...) {
                by.thrown = std::current_exception();
                return 1;
            }
        };
        try {
            return bag_by_key(name, number, key, ask, &asked);
        } catch (const Error&) {
            if (asked.thrown) std::rethrow_exception(asked.thrown);
            throw;
        }
    }

    // Lists a number on which the rest of the list depends, and gives what was written, when the state is read.
    template <typename N> N count(const std::string& name, N number, Options options = {})
    {
        static_assert(std::is_integral_v<N>, "a count is an integer");
        auto wide = static_cast<std::int64_t>(number);
        next(options);
        detail::check("SCR_Count", SCR_Count(state_, name.c_str(), &wide), name);
        return narrow<N>("SCR_Count", name, wide);
    }

    // Says that the program no longer has a field, so that a checkpoint with it can be restored.
    void gone(const std::string& name) { detail::check("SCR_Gone", SCR_Gone(state_, name.c_str()), name); }

    // Lists what `part` lists, with `name` and a slash before the names. It is a callable, or an object with a member
    // void list(scr::State&).
    template <typename Part> void list(const std::string& name, Part&& part)
    {
        struct End {
            SCR_State* state;
            ~End() { SCR_End_list(state); }
        };
        detail::check("SCR_Begin_list", SCR_Begin_list(state_, name.c_str()), name);
        const End end { state_ };
        detail::list_part(part, *this);
    }

    // Lists all objects of a vector, and how many there are: as many on all processes. It is resized to what is stored
    // when it is read.
    template <typename T, typename Allocator> void list(const std::string& name, std::vector<T, Allocator>& objects)
    {
        const std::size_t size = count(name, objects.size());
        if (pass_ == Pass::read) objects.resize(size);
        list(name, [&] {
            for (std::size_t i = 0; i < size; i++) {
                // When lists are compared, the vector has the size that it had before the restart.
                std::optional<T> missing;
                list(std::to_string(i), i < objects.size() ? objects[i] : missing.emplace());
            }
        });
    }

    // Makes the next field, count, file, or stored(), that of process `rank` of the run that wrote the checkpoint.
    State& from_rank(std::int64_t rank)
    {
        detail::check("SCR_From_rank", SCR_From_rank(state_, rank), "rank " + std::to_string(rank));
        return *this;
    }

    // Names the stream (a cudaStream_t or hipStream_t) that has the program's last work on the following fields, if they
    // are in memory of a device: only that stream is waited for. nullptr, as at the beginning, waits for all work.
    State& stream(void* stream)
    {
        detail::check("SCR_Stream", SCR_Stream(state_, stream));
        return *this;
    }

    // Makes a function of the program copy the memory of the next field, where neither the processor reads it nor a driver of
    // CUDA or HIP knows it: s.copy_by(copy).field("heat", scr::view(pointer, {count})).
    State& copy_by(Copy copy)
    {
        copy_ = std::move(copy);
        thrown_ = nullptr;
        const auto call = [](void* context, void* to, const void* from, std::size_t bytes, int direction) {
            auto& state = *static_cast<State*>(context);
            try {
                state.copy_(to, from, bytes, static_cast<Direction>(direction));
                return 0;
            } catch (...) {
                state.thrown_ = std::current_exception();
                return 1;
            }
        };
        detail::check("SCR_Copy", SCR_Copy(state_, call, this));
        return *this;
    }

    // What the checkpoint that is read has of a field; nothing if there is none, or if the state is written. `at` is -1
    // in the dimension of the indices if the field goes by index, as its elements have no one place.
    std::optional<Stored> stored(const std::string& name)
    {
        int type = 0, rank = -1;
        Numbers buffer { 0, 0, 0, 0, 0, 0, 0 }, whole = buffer, at = buffer;
        detail::check("SCR_Stored",
            SCR_Stored(state_, name.c_str(), &type, &rank, &buffer[0], &whole[0], &at[0]), name);
        if (rank < 0) return std::nullopt;
        Stored found { type, {}, {}, {} };
        for (std::size_t i = 0; i < static_cast<std::size_t>(rank); i++) {
            found.extents.add(buffer[i]);
            found.whole.add(whole[i]);
            found.at.add(at[i]);
        }
        return found;
    }

    // How many processes wrote the checkpoint that is read; 0 if the state is written.
    std::int64_t stored_ranks() const
    {
        std::int64_t ranks = 0;
        detail::check("SCR_Stored_ranks", SCR_Stored_ranks(state_, &ranks));
        return ranks;
    }

    Pass pass() const noexcept { return pass_; }

    // The path of a file of this process in the same dataset, which the program writes or reads itself.
    std::filesystem::path file(const std::string& name)
    {
        detail::Buffer path {};
        detail::check("SCR_State_file", SCR_State_file(state_, name.c_str(), path.data()), name);
        return path.data();
    }

    // For parts of the program in C.
    SCR_State* handle() const noexcept { return state_; }

private:
    // Where the array lies: `whole` and `at` of a part of a whole, or the index list.
    struct Place {
        bool same = false;
        const Numbers *whole = nullptr, *at = nullptr;
        const By* index = nullptr;
    };

    template <typename N> static N narrow(const char* call, const std::string& name, std::int64_t wide)
    {
        if (static_cast<std::int64_t>(static_cast<N>(wide)) != wide || (std::is_unsigned_v<N> && wide < 0)) {
            throw Error(call, 1, name + ": " + std::to_string(wide) + " does not fit its type");
        }
        return static_cast<N>(wide);
    }

    template <typename N>
    N bag_by_key(const std::string& name, N number, const std::string& key, SCR_Owner_fn owner, void* context)
    {
        static_assert(std::is_integral_v<N>, "a count is an integer");
        auto wide = static_cast<std::int64_t>(number);
        detail::check("SCR_Bag_by_key",
            SCR_Bag_by_key(state_, name.c_str(), &wide, key.c_str(), owner, context), name);
        bags_.emplace_back(name, wide);
        return narrow<N>("SCR_Bag_by_key", name, wide);
    }

    // The number of elements of a bag; nothing for an index list.
    std::optional<std::int64_t> in_bag(const By& index) const
    {
        for (const auto& [name, count] : bags_)
            if (name == index.name()) return count;
        return std::nullopt;
    }

    void next(Options options)
    {
        if (options.bits() != 0) detail::check("SCR_Next_field", SCR_Next_field(state_, options.bits()));
    }

    template <typename T> void put(const std::string& name, T&& data, Options options, const Place& place)
    {
        static_assert(std::is_lvalue_reference_v<T> || detail::Refers<T>::value,
            "a field is a variable, as a restart reads into it");
        next(options);
        if constexpr (detail::IsBytes<std::decay_t<T>>::value) call(name, memory<true>(name, data.data, place), place, options);
        else call(name, memory<false>(name, data, place), place, options);
    }

    // The memory of a field. A container that has no place in a whole gets the size that is stored.
    template <bool AsBytes, typename T> detail::Memory memory(const std::string& name, T& data, const Place& place)
    {
        auto view = detail::view_of(data);
        if constexpr (detail::Resizes<T>::value) {
            const bool stays = place.whole != nullptr || place.index != nullptr || pass_ == Pass::write;
            const auto found = stays ? std::nullopt : stored(name);
            std::optional<std::int64_t> size;
            if (found && !found->extents.empty()) size = found->extents[0];
            if (place.index != nullptr && pass_ != Pass::write) size = in_bag(*place.index);
            if (size) {
                if (pass_ == Pass::read) data.resize(static_cast<std::size_t>(*size));
                view = detail::view_of(data);
                // When lists are compared, no element is accessed.
                view.extents[0] = *size;
            }
        }
        auto memory = detail::memory_of<AsBytes>(view);
        // Nor is this one, of a container that was empty.
        if (detail::Resizes<T>::value && pass_ == Pass::compare && memory.data == nullptr) memory.data = this;
        std::size_t elements = 1;
        for (const std::int64_t extent : view.extents) elements *= static_cast<std::size_t>(extent);
        if (view.size && *view.size != elements) {
            throw Error("SCR_Field", 1, name + ", which has " + std::to_string(*view.size) + " elements and extents of "
                + std::to_string(elements));
        }
        return memory;
    }

    void call(const std::string& name, const detail::Memory& memory, const Place& place, Options options)
    {
        if (memory.on_device) next(options.on_device());
        const std::size_t size = memory.extents.size();
        for (const Numbers* numbers : { place.whole, place.at, memory.strides ? &*memory.strides : nullptr }) {
            if (numbers != nullptr && numbers->size() != size) {
                throw Error("SCR_Field", 1, name + ", which has " + std::to_string(size)
                    + " dimensions, and a whole, an index or strides of " + std::to_string(numbers->size()));
            }
        }
        const auto rank = static_cast<int>(size);
        const std::int64_t* const extents = memory.extents.begin();
        const std::int64_t* const strides = memory.strides ? memory.strides->begin() : nullptr;
        if (memory.order != Order::row) order(memory.order);
        if (place.same) {
            check("SCR_Same",
                SCR_Same(state_, name.c_str(), memory.data, memory.type, rank, extents, strides), name);
        } else if (place.index != nullptr) {
            check("SCR_Field_by_index",
                SCR_Field_by_index(state_, name.c_str(), place.index->name().c_str(), memory.data, memory.type, rank,
                    extents, strides), name);
        } else {
            check("SCR_Field",
                SCR_Field(state_, name.c_str(), memory.data, memory.type, rank, extents, strides,
                    place.whole ? place.whole->begin() : nullptr, place.at ? place.at->begin() : nullptr), name);
        }
        if (memory.order != Order::row) order(Order::row);
    }

    // Throws what the program's function for copies has thrown, if the call of a field failed.
    void check(const char* name, int code, const std::string& field)
    {
        copy_ = nullptr;
        if (code != SCR_SUCCESS && thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
        detail::check(name, code, field);
    }

    void order(Order order) { detail::check("SCR_Order", SCR_Order(state_, static_cast<int>(order))); }

    SCR_State* state_;
    Pass pass_ {};
    Copy copy_;
    std::exception_ptr thrown_; // by copy_
    std::vector<std::pair<std::string, std::int64_t>> bags_;
};

namespace detail {

// A callable of the program that is called through C. What it throws waits here, as no exception crosses C.
template <typename List> class Routine {
public:
    explicit Routine(List& list) : list_(list) { }

    static int call(SCR_State* state, void* context) noexcept
    {
        auto& routine = *static_cast<Routine*>(context);
        routine.thrown_ = nullptr;
        try {
            State s(state);
            list_part(routine.list_, s);
            return SCR_SUCCESS;
        } catch (...) {
            routine.thrown_ = std::current_exception();
            return 1;
        }
    }

    // Throws what the last call of the callable has thrown, if `name` failed.
    void check(const char* name, int code, const std::string& subject = {}) const
    {
        if (code != SCR_SUCCESS && thrown_) std::rethrow_exception(thrown_);
        detail::check(name, code, subject);
    }

private:
    List& list_;
    std::exception_ptr thrown_;
};

} // namespace detail

// Writes a checkpoint, or another dataset, of what `list` lists: a callable with a scr::State&, or an object with a
// member void list(scr::State&). Without a name it has one made from its id. Collective; if it throws, which it does
// on all processes, older checkpoints are as they were.
template <typename List>
void checkpoint(List&& list, const std::string& name = {}, Flags flags = Flags::checkpoint)
{
    detail::Routine<std::remove_reference_t<List>> routine(list);
    const char* const given = name.empty() ? nullptr : name.c_str();
    routine.check("SCR_Checkpoint", SCR_Checkpoint(given, static_cast<int>(flags), routine.call, &routine), name);
}

// Writes a checkpoint if one is due, and tells whether the program should stop. Collective. If it throws, should_exit()
// tells that.
template <typename List> bool checkpoint_if_needed(List&& list)
{
    int stop = 0;
    detail::Routine<std::remove_reference_t<List>> routine(list);
    routine.check("SCR_Checkpoint_if_needed", SCR_Checkpoint_if_needed(routine.call, &routine, &stop));
    return stop != 0;
}

// Restores what `list` lists from the newest checkpoint that is whole and has these fields, which any number of
// processes may have written. False if there is no checkpoint. Collective. If it throws, which it does on all
// processes, no field was changed unless the messages of SCR say so.
template <typename List> bool restore(List&& list)
{
    int found = 0;
    detail::Routine<std::remove_reference_t<List>> routine(list);
    routine.check("SCR_Restore", SCR_Restore(routine.call, &routine, &found));
    return found != 0;
}

} // namespace scr

#endif // SCR_FIELDS_HPP
