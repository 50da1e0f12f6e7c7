// Fields by index from C++: the fields of tests/c/indexed.c, from containers, views and structures; and each sort of
// integers that can be an index. Usage: indexed write|read|write_bags|read_bags, on any number of ranks

#include "check.hpp"
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <mpi.h>
#include <numeric>
#include <scr.hpp>

namespace {

constexpr int nodes = 23, cells = 5, levels = 3;

struct Node {
    double heat;
    std::int32_t mark;
};

float level(int id, int i) { return float(id) + float(i) / 4; }

struct Mesh {
    explicit Mesh(bool is_reader)
    {
        for (int id = nodes; id >= 1; id--) {
            if (is_reader ? id * ranks / (nodes + 1) != rank : id % ranks != rank) continue;
            node_ids.push_back(id);
            if (is_reader) node_ids.push_back(id % nodes + 1);
        }
        if (rank == (is_reader ? ranks - 1 : 0)) {
            cell_ids.resize(cells);
            std::iota(cell_ids.begin(), cell_ids.end(), 0);
        }
        all.resize(node_ids.size());
        in_levels.resize(node_ids.size());
        turned.resize(levels * node_ids.size());
        sizes.resize(cell_ids.size());
    }

    void fill()
    {
        for (std::size_t n = 0; n < all.size(); n++) {
            const int id = node_ids[n];
            all[n] = { id * 1.5, -id };
            for (std::size_t i = 0; i < levels; i++) {
                in_levels[n][i] = turned[n * levels + i] = level(id, int(i));
            }
        }
        for (std::size_t n = 0; n < sizes.size(); n++) sizes[n] = 10 * cell_ids[n];
    }

    void list(scr::State& s)
    {
        const auto& ids = node_ids;
        const auto count = all.size();
        s.index("nodes", ids, nodes, 1); // also of const ones
        s.index("cells", cell_ids, cells);
        const scr::Numbers apart { sizeof(Node) / sizeof(double) }, apart_marks { sizeof(Node) / sizeof(std::int32_t) };
        Node* const first = all.data();
        s.field("heat", scr::view(first ? &first->heat : nullptr, { count }, apart), scr::by("nodes"));
        s.field("mark", scr::view(first ? &first->mark : nullptr, { count }, apart_marks), scr::by("nodes"));
        s.list("deep", [&] { s.list("inside", [&] { s.field("levels", in_levels, scr::by("nodes")); }); });
        s.field("turned", scr::view(turned, { levels, count }, scr::Order::column), scr::by("nodes"));
        s.field("sizes", sizes, scr::by("cells"), scr::Options {}.convert());
    }

    bool operator==(const Mesh& other) const
    {
        const auto same = [](const Node& a, const Node& b) { return a.heat == b.heat && a.mark == b.mark; };
        return std::equal(all.begin(), all.end(), other.all.begin(), other.all.end(), same)
            && in_levels == other.in_levels && turned == other.turned && sizes == other.sizes;
    }

    std::vector<int> node_ids;
    std::vector<long long> cell_ids;
    std::vector<Node> all;
    std::vector<std::array<float, levels>> in_levels;
    std::vector<float> turned;
    std::vector<std::int64_t> sizes;
};

// The numbers of two elements of each rank, whichever integers they are, and from 5 on, with a structure for each.
template <typename Id> void as_type()
{
    const int whole = 2 * ranks;
    const Id first = static_cast<Id>(5 + rank), second = static_cast<Id>(5 + ranks + rank);
    std::vector<Id> ids { second, first };
    std::array<Id, 2> reverse { first, second };
    Id apart[4] = { second, 1, first, 1 };
    std::vector<Node> all { { 1.5, 2 * rank }, { 2.5, rank } }, read(2);
    const auto state = [&](auto& which, std::vector<Node>& data) {
        return [&](scr::State& s) {
            s.index("ids", which, whole, 5);
            s.field("all", scr::bytes(data), scr::by("ids"));
        };
    };
    scr::checkpoint(state(ids, all), "ids");
    CHECK(scr::restore(state(reverse, read)));
    CHECK(read[0].mark == rank && read[1].heat == 1.5);
    const auto view = scr::view(ids.data(), { 2 });
    CHECK(scr::restore(state(view, read)) && read[0].mark == 2 * rank);
    const auto gaps = scr::view(static_cast<const Id*>(apart), { 2 }, { 2 });
    CHECK(scr::restore(state(gaps, read)) && read[1].mark == rank);
    const auto backwards = scr::view(&ids[1], { 2 }, { -1 });
    CHECK(scr::restore(state(backwards, read)) && read[0].mark == rank);
#ifdef __cpp_lib_span
    const std::span<const Id> span(ids);
    CHECK(scr::restore(state(span, read)) && read[0].mark == 2 * rank);
#endif
    scr::checkpoint(state(gaps, all), "ids");
    CHECK(scr::restore(state(reverse, read)) && read[0].mark == rank);
    scr::remove("ids");
}

// Numbers that are negative ones in the signed type of the same size.
void large_numbers()
{
    const auto base = 3000000000u;
    std::vector<unsigned> ids { base + static_cast<unsigned>(rank) };
    std::vector<int> data { rank }, read(1);
    const auto state = [&](std::vector<int>& which) {
        return [&](scr::State& s) {
            s.index("ids", ids, ranks, base);
            s.field("x", which, scr::by("ids"));
        };
    };
    scr::checkpoint(state(data), "large");
    CHECK(scr::restore(state(read)) && read == data);
    scr::remove("large");
}

void wrong_lists()
{
    std::vector<int> ids { 2 * rank, 2 * rank + 1 };
    std::vector<double> heat(2), three(3);
    const int last = ranks - 1;
    const auto failed = [&](const auto& wrong) {
        const auto state = [&](scr::State& s) {
            if (rank == last) return wrong(s);
            s.index("nodes", ids, 2 * ranks);
            s.field("heat", heat, scr::by("nodes"));
        };
        const std::string call = thrown_by([&] { scr::checkpoint(state, "bad"); });
        return rank == last ? call : call == "SCR_Checkpoint" ? "" : "other ranks: " + call;
    };
    const std::string index = rank == last ? "SCR_Index" : "", by_index = rank == last ? "SCR_Field_by_index" : "";
    CHECK(failed([&](scr::State& s) { s.index("nodes", ids, 2 * ranks, -1); }) == index);
    CHECK(was_told("\"nodes\""));
    CHECK(failed([&](scr::State& s) { s.index("nodes", scr::view(ids, { 2, 1 }), 2 * ranks); }) == index);
    CHECK(failed([&](scr::State& s) { s.index("nodes", scr::view(static_cast<short*>(nullptr), { 2 }), 4); }) == index);
    CHECK(was_told("the pointer is NULL, and there are 2 indices"));
    CHECK(failed([&](scr::State& s) { s.index("nodes", std::vector<long> { -1 }, 4); }) == index);
    CHECK(was_told("is the index -1"));
    CHECK(failed([&](scr::State& s) { s.field("heat", heat, scr::by("nodes")); }) == by_index);
    CHECK(was_told("no index list or bag has this name"));
    const auto too_many = [&](scr::State& s) {
        s.index("nodes", ids, 2 * ranks);
        s.field("heat", three, scr::by("nodes"));
    };
    CHECK(failed(too_many) == by_index);
    CHECK(was_told("its first dimension has 3 places, and \"nodes\" has 2 elements on this rank"));
    // Nor is one of them a name.
    std::vector<double> one(1);
    const auto part = [&](scr::State& s) { s.field("one", one, { 1 }, { 0 }); };
    CHECK(thrown_by([&] { scr::checkpoint(part, "part"); }).empty() == (ranks == 1));
    const auto empty = [&](scr::State& s) { s.field("one", scr::view(one, { 0 }), { 0 }, { 0 }); };
    CHECK(thrown_by([&] { scr::checkpoint(empty, "empty"); }) == "SCR_Field");
}

// Each rank has two elements, and copies of those of the next rank.
void copies()
{
    std::vector<int> ids;
    std::vector<double> heat;
    for (int i = 0; i < (ranks > 1 ? 4 : 2); i++) {
        ids.push_back((2 * rank + i) % (2 * ranks));
        heat.push_back(1.5 * ids.back());
    }
    const auto right = heat;
    const auto state = [&](scr::State& s) {
        s.index("halo", ids, 2 * ranks, 0, scr::Options {}.shared());
        s.field("heat", heat, scr::by("halo"));
    };
    scr::checkpoint(state, "halo");
    if (ranks > 1) {
        if (rank == 0) heat[2] = -1;
        CHECK(thrown_by([&] { scr::checkpoint(state, "bad"); }) == "SCR_Checkpoint");
        CHECK(was_told("ranks 0 and 1 both have the element of index 2 of \"halo\", and their copies differ"));
    }
    std::fill(heat.begin(), heat.end(), 0);
    CHECK(scr::restore(state) && heat == right);
    scr::remove("halo");
}

// The bags of tests/c/indexed.c.
struct Bags {
    std::vector<int> cell;
    std::vector<double> height;
    std::int64_t writers = 0;
    bool fails = false;

    void list(scr::State& s)
    {
        if (s.stored_ranks() != 0) writers = s.stored_ranks();
        s.bag("owned", cell.size(), "cell", [&](std::int64_t key) {
            if (fails && key == 7) throw std::runtime_error("no owner");
            return static_cast<int>(key % ranks);
        });
        s.field("cell", cell, scr::by("owned"));
        s.bag("sorted", height.size(), "height");
        s.field("height", height, scr::by("sorted"));
    }
};

constexpr int particles = 40;

void write_bags()
{
    Bags bags;
    for (int id = rank; id < particles; id += ranks) {
        bags.cell.push_back(7 * id);
        bags.height.push_back(id * 17 % particles / 2.0);
    }
    scr::checkpoint(bags, "bags");
}

void read_bags()
{
    Bags bags, right;
    CHECK(scr::restore(bags));
    const bool is_other = bags.writers != ranks;
    for (int writer = 0; writer < bags.writers; writer++) {
        for (int id = writer; id < particles; id += int(bags.writers)) {
            if (is_other ? 7 * id % ranks != rank : writer != rank) continue;
            right.cell.push_back(7 * id);
            if (!is_other) right.height.push_back(id * 17 % particles / 2.0);
        }
    }
    for (int i = particles * rank / ranks; is_other && i < particles * (rank + 1) / ranks; i++) {
        right.height.push_back(i / 2.0);
    }
    CHECK(bags.cell == right.cell && bags.height == right.height);
    if (!is_other) return;
    bags.fails = true;
    const std::string thrown = thrown_by([&] { scr::restore(bags); });
    CHECK(thrown == "no owner" || thrown == "SCR_Restore");
    const int mine = thrown == "no owner";
    int all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == 1 && bags.cell == right.cell);
}

} // namespace

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(argc == 2);
    {
        scr::Session session;
        if (std::string(argv[1]) == "write") {
            as_type<int>();
            as_type<long>();
            as_type<long long>();
            as_type<short>();
            as_type<unsigned>();
            as_type<std::size_t>();
            large_numbers();
            wrong_lists();
            copies();
            Mesh mesh(false);
            mesh.fill();
            scr::checkpoint(mesh, "nodes");
        } else if (std::string(argv[1]) == "write_bags") {
            write_bags();
        } else if (std::string(argv[1]) == "read_bags") {
            read_bags();
        } else {
            for (const bool is_reader : { false, true }) {
                Mesh mesh(is_reader), right(is_reader);
                right.fill();
                CHECK(scr::restore(mesh) && mesh == right);
            }
        }
        session.finalize();
    }
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
