! Usage: herd complete|OMISSION
! A herd on pastures for tests/mpi/explained.sh: arrays of derived types with allocatable components, a list and a tree of pointers,
! an object of a class, types in types, and random numbers of the compiler's library. Its list lacks the part of the state that is
! named, or nothing. The result is in the file `result`.
module kinds_of_state
    implicit none

    type :: pasture
        real(8), allocatable :: grass(:)
        integer :: visits = 0
    end type

    type :: animal
        real(8) :: energy = 1
        integer :: age = 0
        type(animal), pointer :: next => null()
    end type

    !> A tree of places where water was found.
    type :: place
        real(8) :: water = 0
        type(place), pointer :: left => null(), right => null()
    end type

    type :: season
        real(8) :: phase = 0
        integer(2) :: number = 0
    end type

    type :: calendar
        type(season) :: current
        real(8), allocatable :: rain_of_years(:, :)
    end type

    type, abstract :: habit
    contains
        procedure(appetite_of), deferred :: appetite
    end type

    type, extends(habit) :: learning
        real(8) :: memory = 0.2d0
    contains
        procedure :: appetite => appetite_learnt
    end type

    abstract interface
        real(8) function appetite_of(self, offered)
            import :: habit
            class(habit), intent(inout) :: self
            real(8), intent(in) :: offered
        end function
    end interface

contains

    real(8) function appetite_learnt(self, offered)
        class(learning), intent(inout) :: self
        real(8), intent(in) :: offered
        self%memory = 0.9d0*self%memory + 0.1d0*offered
        appetite_learnt = 0.05d0*self%memory
    end function

end module

module world
    use kinds_of_state
    implicit none
    type(pasture), allocatable, target :: pastures(:)
    type(animal), pointer :: herd => null()
    type(place), pointer :: root => null()
    type(calendar) :: year
    class(habit), allocatable :: custom
    real(8), pointer :: trend(:) => null(), slope(:) => null()
    !> The pasture where the herd is: another pointer to what `pastures` has.
    type(pasture), pointer :: here => null()
    integer :: position = 1
    integer(8) :: seed = 99
    !> The state of `random_number`, while it is written and read.
    integer, allocatable :: seeds(:)
end module

program herding
    use mpi
    use scrf
    use world
    implicit none
    integer :: step, rank, ierror, i
    logical :: found
    character(len=20) :: omission
    type(animal), pointer :: one
    real(8) :: own, total

    call get_command_argument(1, omission)
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    allocate (pastures(4))
    do i = 1, size(pastures)
        allocate (pastures(i)%grass(16 + i))
        pastures(i)%grass = 1 + 0.1d0*i
    end do
    do i = 1, 9
        allocate (one)
        one%energy = i
        one%next => herd
        herd => one
    end do
    call plant(root, 3)
    allocate (year%rain_of_years(6, 4), source=0.5d0)
    allocate (learning :: custom)
    allocate (trend(20), source=0d0)
    slope => trend(2:20:3)
    here => pastures(position)
    call random_seed(size=i)
    allocate (seeds(i), source=rank + 1)
    call random_seed(put=seeds)
    step = 0
    call scr_init()
    call scr_restore(state, found)
    if (found) here => pastures(position)
    do while (step < 24)
        step = step + 1
        call advance()
        if (mod(step, 4) == 0) call scr_checkpoint(state, "ck."//achar(64 + step/4))
    end do
    own = sum([(sum(pastures(i)%grass), i=1, 4)]) + sum(trend)
    call MPI_Reduce(own, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) then
        open (10, file="result")
        write (10, *) total
        close (10)
    end if
    call scr_finalize()
    call MPI_Finalize(ierror)

contains

    logical function has(name)
        character(len=*), intent(in) :: name
        has = omission /= name
    end function

    subroutine state(s)
        class(scr_state), intent(inout) :: s
        type(animal), pointer :: each
        integer :: k
        call s%same("step", step)
        do k = 1, size(pastures)
            if (has("grass")) call s%field("grass."//achar(48 + k), pastures(k)%grass)
            if (has("visits")) call s%field("visits."//achar(48 + k), pastures(k)%visits)
        end do
        each => herd
        do k = 1, 9
            if (has("energy")) call s%field("energy."//achar(48 + k), each%energy)
            if (has("age")) call s%field("age."//achar(48 + k), each%age)
            each => each%next
        end do
        if (has("water")) call list_tree(s, root, "water")
        if (has("phase")) call s%field("phase", year%current%phase)
        if (has("number")) call s%field("number", year%current%number)
        if (has("rain_of_years")) call s%field("rain_of_years", year%rain_of_years)
        select type (custom)
        type is (learning)
            if (has("memory")) call s%field("memory", custom%memory)
        end select
        if (has("trend")) call s%field("trend", trend)
        if (has("position")) call s%field("position", position)
        call s%field("seed", seed)
        if (.not. has("lottery")) return
        if (s%pass() == SCR_PASS_WRITE) call random_seed(get=seeds)
        call s%field("seeds", seeds)
        if (s%pass() == SCR_PASS_READ) call random_seed(put=seeds)
    end subroutine

    recursive subroutine list_tree(s, tree, name)
        class(scr_state), intent(inout) :: s
        type(place), pointer, intent(in) :: tree
        character(len=*), intent(in) :: name
        if (.not. associated(tree)) return
        call s%field(name, tree%water)
        call list_tree(s, tree%left, name//"l")
        call list_tree(s, tree%right, name//"r")
    end subroutine

    recursive subroutine plant(tree, height)
        type(place), pointer, intent(inout) :: tree
        integer, intent(in) :: height
        allocate (tree)
        if (height == 0) return
        call plant(tree%left, height - 1)
        call plant(tree%right, height - 1)
    end subroutine

    !> Rain fills the tree on its way down.
    recursive real(8) function rained(tree, amount) result(sum_of_all)
        type(place), pointer, intent(in) :: tree
        real(8), intent(in) :: amount
        sum_of_all = 0
        if (.not. associated(tree)) return
        tree%water = 0.95d0*tree%water + amount
        sum_of_all = tree%water + rained(tree%left, 0.6d0*amount) + rained(tree%right, 0.3d0*amount)
    end function

    subroutine advance()
        type(animal), pointer :: each
        real(8) :: rain, wish, prize
        integer(8) :: begun, ticks, per_second
        integer :: k
        call system_clock(begun, per_second)
        seed = mod(seed*16807_8, 2147483647_8)
        rain = real(seed, 8)/2147483647.0d0 + year%rain_of_years(mod(step, 6) + 1, 2) + sin(year%current%phase)
        year%current%phase = year%current%phase + 0.31d0
        if (year%current%phase > 1) then
            year%current%phase = year%current%phase - 1
            year%current%number = year%current%number + 1_2
        end if
        year%rain_of_years(mod(step, 6) + 1, :) = 0.1d0*rain
        rain = rained(root, rain) + year%current%number
        do k = 1, size(pastures)
            pastures(k)%grass = pastures(k)%grass*1.01d0 + 0.001d0*rain/(1 + pastures(k)%visits)
        end do
        each => herd
        do while (associated(each))
            each%age = each%age + 1
            wish = custom%appetite(here%grass(3)) + merge(0.01d0, 0d0, each%age > 7)
            each%energy = 0.9d0*each%energy + wish
            here%grass(1:3) = here%grass(1:3) - 0.001d0*each%energy
            each => each%next
        end do
        here%visits = here%visits + 1
        if (mod(step, 3) == 0) position = mod(position, size(pastures)) + 1
        here => pastures(position)
        call random_number(prize)
        pastures(3)%grass = pastures(3)%grass + 0.01d0*prize
        slope = 0.9d0*slope + 0.01d0*here%grass(5)
        pastures(4)%grass(2) = pastures(4)%grass(2) + sum(trend)
        do
            call system_clock(ticks)
            if (ticks - begun > per_second/50) exit
        end do
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
    end subroutine

end program
