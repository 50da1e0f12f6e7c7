//! Programs in C and C++ whose state is behind pointers, in parts of records, and in containers.

use super::image::{How, Image, Listed};
use super::tests::{compile, has, look, start};
use super::*;

const LINKED: &str = "#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node { double x; int id; struct node *next, *back; };
struct tree { long key; struct tree *left, *right; };
union either { double real; long whole; void *address; };
struct flags { unsigned phase : 3; unsigned count : 20; int trend : 6; };
struct tail { int used; double weight[]; };
struct mpi_domain { int cells; };
static struct node *first;
static struct tree *root;
static union either pair[2];
static struct flags flags;
static struct tail *tail;
static struct mpi_domain domain;
static __thread double drift = 2;
static struct tree *grow(int depth)
{
    struct tree *one = calloc(1, sizeof *one);
    one->key = depth;
    if (depth > 0) { one->left = grow(depth - 1); one->right = grow(depth - 2); }
    return one;
}
int main(int argc, char **argv)
{
    int other = argc > 1 && !strcmp(argv[1], \"other\");
    if (other) free(calloc(1, 12345));
    for (int i = 0; i < 500; i++) {
        struct node *one = calloc(1, sizeof *one);
        one->id = i; one->x = i == 250 && other ? -1 : i;
        one->next = first;
        if (first) first->back = one;
        first = one;
    }
    root = grow(5);
    pair[0].real = other ? 2 : 1;
    pair[1].address = first;
    flags.phase = 5; flags.count = other ? 77 : 70; flags.trend = -3;
    tail = calloc(1, sizeof *tail + 50 * sizeof(double));
    tail->weight[49] = other ? 4 : 3;
    domain.cells = 3;
    drift += 1;
    puts(\"ready\");
    fflush(stdout);
    return getchar() == 'x';
}
";

#[test]
fn lists_and_parts_of_records_of_c_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), "gcc", "linked.c", (&["-g"], LINKED)) else {
        return;
    };
    let one = start(&program, "");
    let found = look(&one);
    has(&found, "first.x", "double  linked.c:10");
    has(&found, "first.next.x", "double  linked.c:10");
    has(&found, "root.left.key", "long int  linked.c:11");
    has(&found, "flags.count", "unsigned int  linked.c:13");
    has(&found, "tail.weight", "double 50 linked.c:14");
    has(&found, "domain.cells", "int  linked.c:15");
    assert!(!found.contains_key("first.next.next.x"), "one name for all");

    let seen = Programs::default().look(&one.process, &Thread::default());
    let nodes = seen.leaves.iter().filter(|leaf| leaf.shown.ends_with(".x"));
    assert_eq!(nodes.count(), 500);
    let image = Image::take(&dir.path().join("image"), &one.process, seen.leaves).unwrap();
    let other = start(&program, "other");
    let leaves = Programs::default()
        .look(&other.process, &Thread::default())
        .leaves;
    let differ = || {
        let found = image.differences(&other.process, &leaves, &Listed::default());
        let line = |one: image::Difference| match one.how {
            How::Values {
                first: Some((image, now)),
                ..
            } => {
                format!("{} {image} {now}", one.leaf.shown)
            }
            how => format!("{} {how:?}", one.leaf.shown),
        };
        let mut lines: Vec<String> = found.unwrap().into_iter().map(line).collect();
        lines.sort();
        lines
    };
    let either = "pair Values { first: None, largest: None }";
    assert_eq!(
        differ(),
        [
            "first.next.x 250 -1",
            "flags.count 70 77",
            either,
            "tail.weight 3 4"
        ],
        "an address is no difference"
    );
    let names = ["flags.count", "pair", "tail.weight", "first.next.x"];
    let names: BTreeSet<String> = names.iter().map(ToString::to_string).collect();
    image
        .put(&other.process, &leaves, (&names, &Listed::default()))
        .unwrap();
    assert_eq!(differ(), [""; 0]);
}

const CONTAINERS: &str = "#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
struct Named { virtual ~Named() = default; long uses = 4; };
struct Force : virtual Named { virtual double act() = 0; double cutoff = 2.5; };
template <class Real> struct Thermo : virtual Named { Real zeta = 1; virtual Real step() { return zeta; } };
struct Spring : Force, Thermo<double> { double memory = 3; std::vector<double> past{1, 2}; double act() override { return memory; } };
struct Plan;
namespace sim {
std::map<std::string, double> table{{\"alpha\", 1}, {\"beta\", 2}, {\"gamma\", 3}};
std::set<int> marks{1, 2, 3, 4, 5};
std::list<double> queue(12, 0.5);
std::deque<float> window(300, 0.5f);
std::unordered_map<int, long> bonds{{7, 1}, {9, 2}};
std::optional<double> target{0.5};
std::unique_ptr<Force> force(new Spring);
std::shared_ptr<Thermo<double>> thermo = std::make_shared<Spring>();
}
int main()
{
    for (int i = 0; i < 70; i++) { sim::window.pop_front(); sim::window.push_back(2); }
    std::puts(\"ready\");
    std::fflush(stdout);
    return std::getchar() == 'x';
}
";

#[test]
fn containers_and_objects_of_cxx_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let options = &["-g", "-std=c++17"];
    let Some(program) = compile(dir.path(), "g++", "sim.cpp", (options, CONTAINERS)) else {
        return;
    };
    let waiting = start(&program, "");
    let found = look(&waiting);
    has(&found, "sim::table[].second", "double  sim.cpp:17");
    has(&found, "sim::table[].first", "std::string  sim.cpp:17");
    has(&found, "sim::marks", "int  sim.cpp:18");
    has(&found, "sim::queue", "double  sim.cpp:19");
    has(&found, "sim::window", "float  sim.cpp:20");
    has(&found, "sim::bonds[].second", "long int  sim.cpp:21");
    for object in ["force", "thermo"] {
        let line = if object == "force" { 23 } else { 24 };
        let own = |part: &str| format!("sim::{object}.{part}");
        has(&found, &own("memory"), &format!("double  sim.cpp:{line}"));
        has(&found, &own("past"), &format!("double 2 sim.cpp:{line}"));
        has(&found, &own("cutoff"), &format!("double  sim.cpp:{line}"));
        has(&found, &own("uses"), &format!("long int  sim.cpp:{line}"));
    }
    let seen = Programs::default().look(&waiting.process, &Thread::default());
    let number = |shown: &str| {
        let named = seen
            .leaves
            .iter()
            .filter(|leaf| leaf.shown == shown && leaf.size > 0);
        named.count()
    };
    assert_eq!(number("sim::window"), 300);
    assert_eq!(
        number("sim::target"),
        2,
        "whether there is a value, and the value"
    );
    assert_eq!(number("sim::marks"), 5);
    assert_eq!(number("sim::table[].second"), 3);
}

const IN_MAIN: &str = "#include <memory>
namespace city {
struct Policy { virtual ~Policy() = default; virtual double tax() = 0; };
struct Patient : Policy { double patience = 0.5; double tax() override { return patience; } };
}
int main()
{
    std::unique_ptr<city::Policy> policy = std::make_unique<city::Patient>();
    return policy->tax() > 1;
}
";

#[test]
fn classes_are_known_to_which_only_a_variable_of_a_function_leads() {
    use object::{Object, ObjectSymbol};
    let dir = tempfile::tempdir().unwrap();
    let options = &["-g", "-std=c++17"];
    let Some(program) = compile(dir.path(), "g++", "city.cpp", (options, IN_MAIN)) else {
        return;
    };
    let bytes = std::fs::read(&program).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let main = object.symbols().find(|one| one.name() == Ok("main"));
    let mut file = super::file::ProgramFile::read(&program).unwrap();
    assert!(file.types.classes.is_empty());
    file.read_functions(main.unwrap().address());
    let known = &file.types.classes;
    assert!(known.contains_key("N4city7PatientE"), "{known:?}");
}

const LARGE: &str = "#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static double *values;
int main(int argc, char **argv)
{
    size_t size = (size_t)(argc > 1 ? atoi(argv[1]) : 1) << 20;
    values = malloc(size);
    memset(values, 1, size);
    puts(\"ready\");
    fflush(stdout);
    return getchar() == 'x';
}
";

/// Memory of this process, bytes, by its name in /proc.
fn memory(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.unwrap().parse::<u64>().unwrap() << 10
}

/// For a process of its own: [`a_large_process_is_looked_at_with_little_memory`]. `SCR_TEST_MIB` sets another size.
#[test]
#[ignore = "measures the memory of its process"]
fn memory_for_a_large_process() {
    let size = std::env::var("SCR_TEST_MIB").unwrap_or_else(|_| "256".into());
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), "gcc", "large.c", (&["-g"], LARGE)) else {
        return;
    };
    let one = start(&program, &size);
    let before = memory("VmRSS");
    // This sets the peak to what is in use now.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let mut programs = Programs::default();
    let leaves = programs.look(&one.process, &Thread::default()).leaves;
    let image = Image::take(&dir.path().join("image"), &one.process, leaves).unwrap();
    let leaves = programs.look(&one.process, &Thread::default()).leaves;
    let found = image.differences(&one.process, &leaves, &Listed::default());
    assert_eq!(found.unwrap(), []);
    let grown = memory("VmHWM").saturating_sub(before) >> 20;
    println!("{grown} MiB for {size} MiB");
    assert!(grown <= 64, "{grown} MiB for {size} MiB");
}

#[test]
fn a_large_process_is_looked_at_with_little_memory() {
    let own = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(own);
    command.args(["--ignored", "--exact", "--nocapture"]);
    command.arg("variables::tests_cxx::memory_for_a_large_process");
    let done = command.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && text.contains("1 passed"), "{text}");
}
