//! Small programs in Fortran, C and C++ are compiled and looked at.

mod damage;

use super::image::{How, Image, Listed};
use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A program that has printed a line and waits.
pub(super) struct Waiting {
    child: Child,
    pub process: Process,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Compiles a program; `None` where there is no such compiler.
pub(super) fn compile(
    dir: &Path,
    compiler: &str,
    name: &str,
    (options, text): (&[&str], &str),
) -> Option<PathBuf> {
    let (source, program) = (dir.join(name), dir.join("program"));
    std::fs::write(&source, text).unwrap();
    let mut command = Command::new(compiler);
    command
        .args(options)
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .current_dir(dir);
    let Ok(done) = command.output() else {
        println!("SKIPPED: there is no {compiler}");
        return None;
    };
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    Some(program)
}

pub(super) fn start(program: &Path, argument: &str) -> Waiting {
    let mut command = Command::new(program);
    command
        .arg(argument)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line.trim(), "ready");
    let process = Process::open(child.id()).unwrap();
    Waiting { child, process }
}

/// The leaves by their names, each with its type, shape and place.
pub(super) fn look(waiting: &Waiting) -> BTreeMap<String, String> {
    let seen = Programs::default().look(&waiting.process, &Thread::default());
    assert!(!seen.cut);
    let line = |leaf: &Leaf| match leaf.kind {
        Kind::Presence(there) => (format!("{}?", leaf.shown), there.to_string()),
        _ => {
            let words = [leaf.type_name.as_str(), &leaf.shape(), &leaf.place].join(" ");
            (leaf.shown.clone(), words)
        }
    };
    seen.leaves.iter().map(line).collect()
}

pub(super) fn has(found: &BTreeMap<String, String>, name: &str, words: &str) {
    assert_eq!(
        found.get(name).map(String::as_str),
        Some(words),
        "{name} in {found:#?}"
    );
}

const FORTRAN: &str = "module time_scheme
  implicit none
  type cell
    real(8) :: a
    integer, allocatable :: idx(:)
    real(8), pointer :: p(:,:) => null()
    type(cell), pointer :: next => null()
  end type
  type plain
    real(8) :: x
    integer :: k
  end type
  real(8), allocatable, target :: du_old(:,:)
  real(8), allocatable :: absent(:)
  real(8), pointer :: every(:,:)
  type(cell), allocatable :: cells(:)
  type(plain) :: both(10)
  real(8), allocatable :: single
  character(len=:), allocatable :: text
  class(plain), allocatable :: poly
  complex(8) :: z(2) = (1, 2)
  character(len=6) :: words(3) = 'abc'
contains
  subroutine count
    integer, save :: calls = 3
    calls = calls + 1
    entry count_again
  end subroutine
end module
subroutine s
  real :: c1, c2(5), d1
  common /blk/ c1, c2
  common d1
  c1 = 1; c2 = 2; d1 = 3
end subroutine
program heat
  use time_scheme
  real(8) :: big(100000)
  character(len=16) :: argument
  allocate(du_old(0:127, 64), cells(2), poly, single)
  allocate(cells(1)%idx(5), cells(2)%next)
  du_old = 1; text = 'hello'; big = 5; single = 2
  cells(1)%a = 1; cells(2)%a = 2; cells(1)%idx = 7; cells(2)%next%a = 8
  every => du_old(0:127:2, :)
  call s; call count
  call get_command_argument(1, argument)
  if (argument == 'other') then
    du_old(3, :) = 1.5d0; cells(2)%next%a = 9; both(4)%k = 17; allocate(absent(3)); absent = 0
  end if
  print '(a)', 'ready'
  call flush(6)
  read(*, *)
  print *, big(3)
end program
";

#[test]
fn variables_of_fortran_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), "gfortran", "heat.f90", (&["-g"], FORTRAN)) else {
        return;
    };
    let waiting = start(&program, "");
    let found = look(&waiting);
    has(&found, "time_scheme::du_old", "real(8) 128x64 heat.f90:13");
    has(&found, "time_scheme::absent?", "false");
    assert!(
        !found.contains_key("time_scheme::every"),
        "`du_old' has its elements"
    );
    has(
        &found,
        "time_scheme::cells(:)%idx",
        "integer(4) 5 heat.f90:16",
    );
    has(
        &found,
        "time_scheme::cells(:)%next%a",
        "real(8)  heat.f90:16",
    );
    has(&found, "time_scheme::both%k", "integer(4) 10 heat.f90:17");
    has(&found, "time_scheme::single", "real(8)  heat.f90:18");
    has(&found, "time_scheme::text", "character(5)  heat.f90:19");
    has(&found, "time_scheme::poly%x", "real(8)  heat.f90:20");
    has(&found, "time_scheme::z", "complex(8) 2 heat.f90:21");
    has(&found, "time_scheme::words", "character(6) 3 heat.f90:22");
    has(
        &found,
        "time_scheme::count::calls",
        "integer(4)  heat.f90:25",
    );
    has(&found, "/blk/ c2", "real(4) 5 heat.f90:31");
    has(&found, "// d1", "real(4)  heat.f90:31");
    has(&found, "heat::big", "real(8) 100000 heat.f90:38");
}

/// What differs in a process, as `name: elements`.
fn differences(image: &Image, waiting: &Waiting, listed: &Listed) -> Vec<String> {
    let seen = Programs::default().look(&waiting.process, &Thread::default());
    let found = image
        .differences(&waiting.process, &seen.leaves, listed)
        .unwrap();
    let line = |one: &image::Difference| match &one.how {
        How::Values { largest, .. } => format!(
            "{}: {} {} {}",
            one.leaf.shown,
            one.count,
            one.listed,
            largest.unwrap_or(-1.0)
        ),
        How::Shape { image } => format!("{}: had {image}", one.leaf.shown),
        How::Presence { image } => format!("{}: was there: {image}", one.leaf.shown),
    };
    let mut lines: Vec<String> = found.iter().map(line).collect();
    lines.sort();
    lines
}

#[test]
fn values_of_two_processes_are_compared_and_put_right() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), "gfortran", "heat.f90", (&["-g"], FORTRAN)) else {
        return;
    };
    let one = start(&program, "");
    let seen = Programs::default().look(&one.process, &Thread::default());
    let image = Image::take(&dir.path().join("image"), &one.process, seen.leaves).unwrap();
    let alike = start(&program, "");
    assert_eq!(
        differences(&image, &alike, &Listed::default()),
        Vec::<String>::new()
    );

    let other = start(&program, "other");
    let rest = [
        "time_scheme::both%k: 1 0 17".to_string(),
        "time_scheme::cells(:)%next%a: 1 0 1".to_string(),
    ];
    let absent = "time_scheme::absent: was there: false".to_string();
    let du_old = "time_scheme::du_old: 64 0 0.5".to_string();
    let found = differences(&image, &other, &Listed::default());
    let wanted = [std::slice::from_ref(&absent), &rest[..], &[du_old]].concat();
    assert_eq!(found, wanted, "`every' has other elements of du_old");

    // The row that differs is listed, but for its first element.
    let leaves = Programs::default()
        .look(&other.process, &Thread::default())
        .leaves;
    let du_old = leaves
        .iter()
        .find(|leaf| leaf.key == "time_scheme::du_old")
        .unwrap();
    let mut listed = Listed::default();
    listed.add(du_old.address + 3 * 8 + 1024, 8, &[(63, 1024)]);
    listed.settle();
    let found = differences(&image, &other, &listed);
    assert!(
        found.contains(&"time_scheme::du_old: 1 63 0.5".to_string()),
        "{found:?}"
    );

    let names: BTreeSet<String> = leaves.iter().map(|leaf| leaf.shown.clone()).collect();
    image
        .put(&other.process, &leaves, (&names, &Listed::default()))
        .unwrap();
    assert_eq!(differences(&image, &other, &Listed::default()), [absent]);
}

/// gfortran has variables in the order of their names: `current` is before `meadows`.
const POINTERS: &str = "module pastures
  implicit none
  type pasture
    real(8), allocatable :: grass(:)
    integer :: visits = 0
  end type
  type animal
    real(8) :: energy = 1
    integer :: age = 0
  end type
  type(pasture), pointer :: current => null()
  type(animal), pointer :: youngest => null()
  type(pasture), allocatable, target :: meadows(:)
  type(animal), target :: herd(5)
  real(8), allocatable, target :: field(:)
  type(pasture), pointer :: last => null()
  type(animal), pointer :: oldest => null()
  real(8), pointer :: part(:) => null()
end module
program walk
  use pastures
  integer :: i
  character(len=16) :: argument
  call get_command_argument(1, argument)
  allocate(meadows(3), field(20))
  field = [(i, i=1, 20)]
  do i = 1, 3
    allocate(meadows(i)%grass(4 + i))
    meadows(i)%grass = i
    meadows(i)%visits = i
  end do
  herd%age = [(i, i=1, 5)]
  i = 1
  if (argument == 'other') i = 2
  current => meadows(i); last => meadows(i); youngest => herd(i); oldest => herd(i); part => field(i:20:3)
  print '(a)', 'ready'
  call flush(6)
  read(*, *)
end program
";

#[test]
fn what_a_pointer_points_to_has_the_name_of_its_own_variable() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), "gfortran", "walk.f90", (&["-g"], POINTERS)) else {
        return;
    };
    let one = start(&program, "");
    let found = look(&one);
    has(
        &found,
        "pastures::meadows(:)%visits",
        "integer(4)  walk.f90:13",
    );
    has(&found, "pastures::herd%age", "integer(4) 5 walk.f90:14");
    let pointed = |name: &&String| {
        name.contains('%') && !name.contains("meadows(") && !name.contains("herd%")
    };
    assert_eq!(found.keys().find(pointed), None);
    let seen = Programs::default().look(&one.process, &Thread::default());
    let image = Image::take(&dir.path().join("image"), &one.process, seen.leaves).unwrap();
    let other = start(&program, "other");
    let differ = differences(&image, &other, &Listed::default());
    assert_eq!(
        differ,
        Vec::<String>::new(),
        "a pointer to another part is no other part"
    );
}

const CLASSES: &str = "module schemes
  implicit none
  type, abstract :: scheme
    integer :: order = 1
  end type
  type, extends(scheme) :: euler
    real(8) :: dt = 1
  end type
  type, extends(scheme) :: verlet
    real(8) :: old(3) = 2
    real(8), allocatable :: older(:)
  end type
  type node
    integer :: k = 1
    type(node), allocatable :: children(:)
    type(node), allocatable :: next
  end type
  class(scheme), allocatable :: own
  class(scheme), allocatable :: both(:)
  procedure(left), pointer :: move => null()
  type(node) :: tree
  class(*), allocatable :: any
  character(len=:), allocatable :: names(:)
  real(8) :: whole(4) = 1, half(2)
  equivalence (whole(3), half(1))
contains
  subroutine left
  end subroutine
  subroutine right
  end subroutine
end module
program classes
  use schemes
  character(len=16) :: argument
  call get_command_argument(1, argument)
  allocate(verlet :: both(2))
  select type (both)
  type is (verlet)
    allocate(both(2)%older(4))
    both(2)%older = 5
  end select
  move => left
  allocate(tree%children(3), tree%next)
  allocate(character(len=5) :: names(2))
  names = 'a'
  any = 1.5d0
  half = 2
  if (argument == 'other') then
    move => right
    allocate(euler :: own)
  else
    allocate(verlet :: own)
  end if
  print '(a)', 'ready'
  call flush(6)
  read(*, *)
end program
";

#[test]
fn objects_of_a_class_have_the_parts_of_their_own_type() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), "gfortran", "classes.f90", (&["-g"], CLASSES)) else {
        return;
    };
    let one = start(&program, "");
    let found = look(&one);
    has(
        &found,
        "schemes::own%scheme%order",
        "integer(4)  classes.f90:18",
    );
    has(&found, "schemes::own%old", "real(8) 3 classes.f90:18");
    has(&found, "schemes::own%older?", "false");
    has(&found, "schemes::both(:)%older", "real(8) 4 classes.f90:19");

    // What gfortran tells nothing of.
    has(
        &found,
        "schemes::tree%children(:)%k",
        "integer(4)  classes.f90:21",
    );
    has(&found, "schemes::tree%next%k", "integer(4)  classes.f90:21");
    has(&found, "schemes::any", "8 bytes  classes.f90:22");
    has(&found, "schemes::names", "character(5) 2 classes.f90:23");
    has(&found, "schemes::(EQUIVALENCE 0)", "8 bytes 4 ");

    let seen = Programs::default().look(&one.process, &Thread::default());
    let image = Image::take(&dir.path().join("image"), &one.process, seen.leaves).unwrap();
    let alike = start(&program, "");
    assert_eq!(
        differences(&image, &alike, &Listed::default()),
        Vec::<String>::new()
    );
    let other = start(&program, "other");
    let wanted = ["schemes::move: 1 0 -1", "schemes::own (its type): 1 0 -1"];
    assert_eq!(differences(&image, &other, &Listed::default()), wanted);
    let leaves = Programs::default()
        .look(&other.process, &Thread::default())
        .leaves;
    let names = BTreeSet::from(["schemes::move".to_string()]);
    let listed = Listed::default();
    image
        .put(&other.process, &leaves, (&names, &listed))
        .unwrap();
    assert_eq!(differences(&image, &other, &listed), &wanted[1..]);
}

const C: &str = "#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct cell { double a; struct cell *next; int flags[3]; };
typedef int MPI_Comm;
static MPI_Comm communicator = 5;
static double *values;
static struct cell *list;
static FILE *file;
const int fixed = 3;
int table[2][3] = {{1}};
long double extended = 1;
static void *blob;
static int step(void) { static unsigned calls; return ++calls; }
int main(void)
{
    values = malloc(1000 * sizeof *values);
    for (int i = 0; i < 1000; i++) values[i] = i;
    list = calloc(1, sizeof *list);
    list->next = calloc(1, sizeof *list);
    list->next->next = list;
    blob = calloc(1, 4096);
    file = stdin;
    step();
    puts(\"ready\");
    fflush(stdout);
    return getchar() == 'x' ? table[1][1] + communicator : 0;
}
";

#[test]
fn variables_of_c_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), "gcc", "heat.c", (&["-g"], C)) else {
        return;
    };
    let waiting = start(&program, "");
    let found = look(&waiting);
    has(&found, "values", "double 1001 heat.c:7");
    has(&found, "list.a", "double  heat.c:8");
    has(&found, "list.next.flags", "int 3 heat.c:8");
    has(&found, "table", "int 2x3 heat.c:11");
    has(&found, "extended", "long double  heat.c:12");
    has(&found, "blob", "8 bytes 513 heat.c:13");
    has(&found, "step::calls", "unsigned int  heat.c:14");
    for left_out in ["communicator", "fixed", "file"] {
        assert!(!found.contains_key(left_out), "{left_out}");
    }
}

#[test]
fn without_debug_information_symbols_are_left() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), "gcc", "heat.c", (&[], C)) else {
        return;
    };
    assert_eq!(Programs::default().told(&program), Told::Symbols);
    let waiting = start(&program, "");
    let found = look(&waiting);
    has(&found, "table", "8 bytes 3 ");
    assert!(found.contains_key("calls"), "{found:#?}");
    let Some(program) = compile(dir.path(), "gcc", "heat.c", (&["-s"], C)) else {
        return;
    };
    assert_eq!(Programs::default().told(&program), Told::Nothing);
    assert_eq!(look(&start(&program, "")).len(), 0);
}

const CXX: &str = "#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>
namespace ocean {
struct Level { double depth; std::vector<double> salt; };
class Model {
public:
    static int built;
    std::vector<double> heat = std::vector<double>(64, 1.0);
    std::vector<Level> levels = std::vector<Level>(2, Level{3, {1, 2, 3}});
    std::array<float, 4> bounds{};
    std::unique_ptr<double[]> raw{new double[5]()};
    std::string title = \"north\";
    std::mt19937 random;
    virtual ~Model() = default;
};
int Model::built = 7;
std::unique_ptr<Model> model;
}
int main()
{
    ocean::model.reset(new ocean::Model);
    std::puts(\"ready\");
    std::fflush(stdout);
    return std::getchar() == 'x';
}
";

#[test]
fn variables_of_cxx_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), "g++", "ocean.cpp", (&["-g", "-std=c++17"], CXX))
    else {
        return;
    };
    let found = look(&start(&program, ""));
    has(&found, "ocean::Model::built", "int  ocean.cpp:20");
    has(&found, "ocean::model.heat", "double 64 ocean.cpp:21");
    has(
        &found,
        "ocean::model.levels[].depth",
        "double  ocean.cpp:21",
    );
    has(
        &found,
        "ocean::model.levels[].salt",
        "double 3 ocean.cpp:21",
    );
    has(&found, "ocean::model.bounds", "float 4 ocean.cpp:21");
    has(&found, "ocean::model.raw", "double 5 ocean.cpp:21");
    has(&found, "ocean::model.title", "std::string  ocean.cpp:21");
    assert!(found.contains_key("ocean::model.random"), "{found:#?}");
}
