// Checkpoints of fields from C++: each type in each shape is restored, containers get the size that is stored, and what
// is wrong on one process is an error on all. Runs on any number of ranks, in an empty prefix directory.

#include "check.hpp"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mpi.h>
#include <numeric>
#include <scr.hpp>

namespace {

struct Pair {
    int first;
    double second;
    bool operator==(const Pair& other) const { return first == other.first && second == other.second; }
};
enum class Colour : unsigned char { red, green, blue };

// A value that is another one for each number and rank.
template <typename T> T value(int number)
{
    number += 3 * rank;
    if constexpr (std::is_same_v<T, Pair>) return { number, number + 0.5 };
    else if constexpr (std::is_same_v<T, bool>) return number % 2 == 1;
    else if constexpr (scr::detail::IsComplex<T>::value) {
        using Part = typename T::value_type;
        return T(static_cast<Part>(number), static_cast<Part>(-number));
    } else return static_cast<T>(number % 100);
}

template <typename T> std::vector<T> values(std::size_t size, int first)
{
    std::vector<T> all(size);
    for (std::size_t i = 0; i < size; i++) all[i] = value<T>(first + static_cast<int>(i));
    return all;
}

template <typename View> auto as_field(View view)
{
    using T = std::remove_pointer_t<decltype(view.data)>;
    if constexpr (std::is_same_v<T, Pair>) return scr::bytes(std::move(view));
    else return view;
}

// Fields of one type. `first` is their first value. std::vector<bool> has no array of bool.
template <typename T> struct Shapes {
    using Item = std::conditional_t<std::is_same_v<T, bool>, std::array<bool, 1>, T>;

    explicit Shapes(int first)
        : scalar(value<T>(first)), dense(fill(24, first)), sparse(fill(2 * 3 * 4 * 8, first)), own(fill(std::size_t(first % 7), first))
    {
        for (auto& row : fixed) row.fill(value<T>(first++));
    }

    static std::vector<Item> fill(std::size_t size, int first)
    {
        std::vector<Item> all(size);
        for (std::size_t i = 0; i < size; i++) {
            if constexpr (std::is_same_v<T, bool>) all[i] = { value<T>(first + static_cast<int>(i)) };
            else all[i] = value<T>(first + static_cast<int>(i));
        }
        return all;
    }

    void list(scr::State& s)
    {
        Item* const elements = sparse.data();
        s.field("scalar", as_field(scr::view(&scalar, {})));
        s.field("dense", as_field(scr::view(dense, { 24 })));
        s.field("cube", as_field(scr::view(dense.data(), { 2, 3, 4 })));
        s.field("every second", as_field(scr::view(elements, { 5 }, { 2 })));
        s.field("section", as_field(scr::view(elements + 16, { 2, 3, 4 }, { 96, 32, 2 })));
        s.field("back", as_field(scr::view(elements + 7, { 4 }, { -2 })));
        s.field("cube back", as_field(scr::view(elements + 191, { 2, 3, 4 }, { -96, -24, -2 })));
        s.field("column", as_field(scr::view(dense.data(), { 4, 6 }, scr::Order::column)));
        s.field("none", as_field(scr::view(elements, { 3, 0, 2 })));
        s.field("nowhere", as_field(scr::view(static_cast<Item*>(nullptr), { 0 })));
        if constexpr (std::is_same_v<T, Pair>) {
            s.field("fixed", scr::bytes(fixed));
            s.field("own", scr::bytes(own));
        } else {
            s.field("fixed", fixed);
            s.field("own", own);
        }
    }

    // True for the elements that are listed.
    bool is_restored(const Shapes& right) const
    {
        bool same = scalar == right.scalar && fixed == right.fixed && dense == right.dense && own == right.own;
        const auto is_same = [&](int place) {
            return sparse[static_cast<std::size_t>(place)] == right.sparse[static_cast<std::size_t>(place)];
        };
        for (int i = 0; i < 5; i++) same = same && is_same(2 * i);
        for (int i = 0; i < 4; i++) same = same && is_same(7 - 2 * i);
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 3; j++) {
                for (int k = 0; k < 4; k++) {
                    same = same && is_same(16 + 96 * i + 32 * j + 2 * k) && is_same(191 - 96 * i - 24 * j - 2 * k);
                }
            }
        }
        return same;
    }

    // True if no other element has changed: 10 lies in no section.
    bool is_kept(const Shapes& before) const { return sparse[10] == before.sparse[10]; }

    T scalar;
    std::array<std::array<T, 3>, 2> fixed {};
    std::vector<Item> dense, sparse, own;
};

// All types as one nested list.
struct AllTypes {
    explicit AllTypes(int first) : all { Shapes<bool>(first), Shapes<char>(first), Shapes<signed char>(first),
        Shapes<short>(first), Shapes<int>(first), Shapes<long>(first), Shapes<long long>(first), Shapes<unsigned char>(first),
        Shapes<unsigned short>(first), Shapes<unsigned>(first), Shapes<unsigned long>(first), Shapes<char32_t>(first),
        Shapes<float>(first), Shapes<double>(first), Shapes<long double>(first), Shapes<std::complex<float>>(first),
        Shapes<std::complex<double>>(first), Shapes<std::complex<long double>>(first), Shapes<std::byte>(first),
        Shapes<Colour>(first), Shapes<Pair>(first) } { }

    void list(scr::State& s)
    {
        int number = 0;
        std::apply([&](auto&... shapes) { (s.list("type " + std::to_string(number++), shapes), ...); }, all);
    }

    template <std::size_t... I> void check(const AllTypes& right, const AllTypes& before, std::index_sequence<I...>) const
    {
        const bool restored[] = { std::get<I>(all).is_restored(std::get<I>(right.all))... };
        const bool kept[] = { std::get<I>(all).is_kept(std::get<I>(before.all))... };
        for (const bool is : restored) CHECK(is);
        for (const bool is : kept) CHECK(is);
    }

    std::tuple<Shapes<bool>, Shapes<char>, Shapes<signed char>, Shapes<short>, Shapes<int>, Shapes<long>, Shapes<long long>,
        Shapes<unsigned char>, Shapes<unsigned short>, Shapes<unsigned>, Shapes<unsigned long>, Shapes<char32_t>, Shapes<float>,
        Shapes<double>, Shapes<long double>, Shapes<std::complex<float>>, Shapes<std::complex<double>>,
        Shapes<std::complex<long double>>, Shapes<std::byte>, Shapes<Colour>, Shapes<Pair>> all;
};

void every_type_in_every_shape()
{
    AllTypes written(4), right(4), read(9), before(9);
    scr::checkpoint(written, "types");
    CHECK(scr::restore(read));
    read.check(right, before, std::make_index_sequence<std::tuple_size_v<decltype(read.all)>>());
    scr::remove("types");
}

// Parts of a whole, in two dimensions with a ghost row above and below.
void parts()
{
    const int rows = 3, columns = 4;
    std::vector<double> grid(std::size_t((rows + 2) * columns), -1), line = values<double>(2, 0);
    double* const inside = grid.data() + columns;
    std::iota(inside, inside + rows * columns, 1000.0 * rank);
    std::vector<std::array<float, 3>> points(2, { float(rank), 1, 2 });
    const auto right = grid;
    const std::array<std::int64_t, 2> whole { rows * ranks, columns };
    const auto state = [&](scr::State& s) {
        s.field("grid", scr::view(inside, { rows, columns }), whole, { rows * rank, 0 });
        s.field("line", line, { 2 * ranks }, { 2 * rank });
        s.field("points", points, { 2 * ranks, 3 }, { 2 * rank, 0 });
    };
    scr::checkpoint(state, "parts");
    std::fill(grid.begin(), grid.end(), -1);
    line.assign(2, 0);
    points.assign(2, {});
    CHECK(scr::restore(state));
    CHECK(grid == right && line == values<double>(2, 0) && points[1][0] == float(rank) && points[1][2] == 2);

    // A part has the size that the program gives it. Any part can be read.
    line.resize(1);
    CHECK(scr::restore(state) && line == values<double>(1, 0));

    // In Fortran's order: a(2,3) of arrays of 3 is a(2,3,3) there, and a[3][3][2] in C.
    std::vector<std::array<int, 3>> triples(6);
    std::iota(triples[0].data(), triples[0].data() + 18, 0);
    std::vector<int> turned(18);
    scr::checkpoint([&](scr::State& s) { s.field("x", scr::view(triples, { 2, 3 }, scr::Order::column)); }, "column");
    const auto as_row = [&](scr::State& s) { s.field("x", scr::view(turned.data(), { 3, 3, 2 }, { 1, 6, 3 })); };
    CHECK(scr::restore(as_row));
    CHECK(std::equal(turned.begin(), turned.end(), triples[0].data()));
    scr::remove("column");

    // An array has as many elements as its extents say, and as many dimensions as its whole.
    const auto wrong_size = [&](scr::State& s) { s.field("x", scr::view(grid, { rows, columns })); };
    CHECK(thrown_by([&] { scr::checkpoint(wrong_size); }) == "SCR_Field");
    const auto wrong_whole = [&](scr::State& s) { s.field("x", line, whole, { 0, 0 }); };
    CHECK(thrown_by([&] { scr::checkpoint(wrong_whole); }) == "SCR_Field");
    const auto wrong_strides = [&](scr::State& s) { s.field("x", scr::view(line.data(), { 1, 1 }, { 1 })); };
    CHECK(thrown_by([&] { scr::checkpoint(wrong_strides); }) == "SCR_Field");
    scr::remove("parts");
}

// Arrays of newer standards are written by one name and read by another.
void spans()
{
#ifdef __cpp_lib_span
    std::vector<int> numbers = values<int>(6, 1);
    scr::checkpoint([&](scr::State& s) { s.field("x", std::span(numbers).first(4)); }, "span");
    std::array<int, 4> read {};
    const std::span<int, 4> span(read);
    CHECK(scr::restore([&](scr::State& s) { s.field("x", span); }));
    CHECK(std::equal(read.begin(), read.end(), numbers.begin()));
    scr::remove("span");
#endif
#ifdef __cpp_lib_mdspan
    // By indices: left[i, j] is right[i, j].
    std::vector<int> left = values<int>(6, 1), right(6);
    const std::mdspan<int, std::dextents<int, 2>, std::layout_left> from(left.data(), 2, 3);
    const std::mdspan<int, std::extents<int, 2, 3>> to(right.data());
    scr::checkpoint([&](scr::State& s) { s.field("x", from, { 2 * ranks, 3 }, { 2 * rank, 0 }); }, "mdspan");
    CHECK(scr::restore([&](scr::State& s) { s.field("x", to, { 2 * ranks, 3 }, { 2 * rank, 0 }); }));
    CHECK((right == std::vector<int> { left[0], left[2], left[4], left[1], left[3], left[5] }));
    scr::remove("mdspan");
#endif
}

struct Cell {
    int id = -1;
    std::vector<double> inside;
    void list(scr::State& s)
    {
        s.field("id", id);
        s.field("inside", inside);
    }
    bool operator==(const Cell& other) const { return id == other.id && inside == other.inside; }
};

// What is resized is so in the last call alone, in which the state is read.
void containers()
{
    struct Program {
        std::vector<int> numbers;
        std::string name, title;
        std::vector<Cell> cells;
        std::vector<Pair> pairs;
        std::vector<scr::Pass> passes {};
        std::size_t size_before = 0;
        void list(scr::State& s)
        {
            s.field("numbers", numbers);
            s.field("name", name);
            s.same("title", title);
            s.list("cells", cells);
            s.field("pairs", scr::bytes(pairs));
            const int all = s.count("all", int(numbers.size()));
            passes.push_back(s.pass());
            if (s.pass() == scr::Pass::write) {
                CHECK(!s.stored("numbers").has_value() && s.stored_ranks() == 0);
            } else {
                const auto stored = s.stored("numbers");
                CHECK(stored && stored->type == SCR_INT32 && stored->extents.size() == 1 && stored->extents[0] == all);
                CHECK(!s.stored("never").has_value() && s.stored_ranks() == ranks);
            }
            if (s.pass() == scr::Pass::compare) CHECK(numbers.size() == size_before);
            if (s.pass() == scr::Pass::read) CHECK(numbers.size() == std::size_t(all));
        }
    };
    const Program right { values<int>(std::size_t(rank + 2), 5), std::string(std::size_t(rank), 'x'), "a title",
        { { 1, { 1.5 } }, { 2, {} }, { 3, values<double>(3, rank) } }, values<Pair>(2, 1) };
    Program written = right;
    scr::checkpoint(written, "containers", scr::Flags::checkpoint | scr::Flags::output);
    CHECK(written.passes == std::vector<scr::Pass> { scr::Pass::write });
    for (const std::size_t size : { 0u, 1u, 9u }) {
        Program read { values<int>(size, 0), "before", "", std::vector<Cell>(size), std::vector<Pair>(size) };
        read.size_before = size;
        CHECK(scr::restore(read));
        CHECK((read.passes == std::vector<scr::Pass> { scr::Pass::compare, scr::Pass::read }));
        CHECK(read.numbers == right.numbers && read.name == right.name && read.title == right.title);
        CHECK(read.cells == right.cells && read.pairs == right.pairs);
    }
    scr::remove("containers");
}

// An exception on one process makes the checkpoint fail on all, and none is lost.
void exceptions()
{
    int step = 1;
    const int last = ranks - 1;
    scr::checkpoint([&](scr::State& s) { s.same("step", step); }, "good");
    step = 2;
    const auto throwing = [&](scr::State& s) {
        s.list("part", [&] {
            if (rank == last) throw std::runtime_error("disk on fire");
        });
        s.same("step", step);
    };
    CHECK(thrown_by([&] { scr::checkpoint(throwing); }) == (rank == last ? "disk on fire" : "SCR_Checkpoint"));
    CHECK(thrown_by([&] { scr::checkpoint([&](scr::State& s) { s.same("rank", rank); }); }).empty() == (ranks == 1));
    const auto twice = [&](scr::State& s) {
        s.same("step", step);
        s.same("step", step);
    };
    CHECK(thrown_by([&] { scr::checkpoint(twice); }) == "SCR_Same");
    const auto other_call = [&](scr::State&) { scr::route("file"); };
    CHECK(thrown_by([&] { scr::checkpoint(other_call); }) == "SCR_Route_file");
    CHECK(thrown_by([&] { scr::checkpoint([&](scr::State& s) { s.from_rank(0).same("step", step); }); }) == "SCR_Same");
    const auto good = [&](scr::State& s) { s.same("step", step); };
    CHECK(scr::restore(good) && step == 1);
}

// A checkpoint without a name that is due, with a file of the program's own; and a list that has changed.
void changed_lists()
{
    std::int32_t number = 5;
    float old = 1.5;
    const auto state = [&](scr::State& s) {
        s.same("number", number);
        s.field("old", old);
        if (s.pass() == scr::Pass::write) std::ofstream(s.file("notes")) << "notes " << rank;
    };
    CHECK(!scr::checkpoint_if_needed(state));
    std::int64_t wide = 0;
    double renamed = 7;
    std::string notes;
    const scr::Options options;
    const auto changed = [&](scr::State& s) {
        s.same("number", wide, options.convert());
        s.field("new", renamed, options.keep_if_missing().convert());
        s.gone("old");
        if (s.pass() == scr::Pass::read) std::getline(std::ifstream(s.file("notes")), notes);
    };
    CHECK(scr::restore(changed));
    CHECK(wide == 5 && renamed == 7 && notes == "notes " + std::to_string(rank));
    float mine = 0;
    const auto of_old_process = [&](scr::State& s) {
        s.same("number", number);
        s.from_rank(rank).field("old", mine);
    };
    CHECK(scr::restore(of_old_process) && mine == old);
    scr::checkpoint([&](scr::State& s) { s.count("number", 1000); }, "count");
}

// Nothing changes in a restart that fails. It gives no checkpoint up, and this run gets none any more.
void failed_restart()
{
    int before = 7;
    const int last = ranks - 1;
    const auto throwing = [&](scr::State& s) {
        before = static_cast<int>(s.count("number", before));
        if (rank == last) throw std::runtime_error("disk on fire");
    };
    CHECK(thrown_by([&] { scr::restore(throwing); }) == (rank == last ? "disk on fire" : "SCR_Restore"));
    CHECK(before == 1000);
    CHECK(thrown_by([&] { scr::restore(throwing); }) == "SCR_Restore");
    CHECK(was_told("could not be read: rank " + std::to_string(last)));
    CHECK(thrown_by([&] { scr::checkpoint([](scr::State&) {}); }) == "SCR_Checkpoint");
    CHECK(was_told("(SCR-340)"));
}

void other_list()
{
    int number = 7;
    const auto narrow = [&](scr::State& s) { s.count("number", static_cast<signed char>(1)); };
    const auto missing = [&](scr::State& s) {
        s.count("number", number);
        s.field("never", number);
    };
    CHECK(!thrown_by([&] { scr::restore(missing); }).empty());
    CHECK(was_told("count \"number\" is not in the checkpoint"));
    CHECK(thrown_by([&] { scr::restore(narrow); }) == "SCR_Count");
}

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto nothing = [](scr::State&) {};
    CHECK(thrown_by([&] { scr::checkpoint(nothing); }) == "SCR_Checkpoint");
    scr::config("SCR_CHECKPOINT_INTERVAL=1");
    scr::config("SCR_CACHE_SIZE=8");
    {
        scr::Session session;
        CHECK(!scr::restore(nothing));
        every_type_in_every_shape();
        parts();
        spans();
        containers();
        exceptions();
        changed_lists();
        session.finalize();
    }
    for (const auto& part : { failed_restart, other_list }) {
        scr::Session session;
        part();
        session.finalize();
    }
    CHECK(thrown_by([&] { scr::restore(nothing); }) == "SCR_Restore");
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
