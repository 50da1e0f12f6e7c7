! Usage: explained_fortran complete|du_old|phase|cloud|seed|filter|mean|count
! A program for scr rehearse --explain whose list lacks one part of its state: of a module with allocatable arrays and a scheme of
! two steps, of a COMMON block, of a derived type with pointers, of a generator of random numbers, of an object of a class, or a
! sum that only the result depends on. The result is in `result`.
module time_scheme
    implicit none
    real(8), allocatable :: u(:, :), du(:, :), du_old(:, :), work(:, :)
    integer :: count = 0
end module

module particles
    implicit none
    type :: cloud
        integer :: number = 0
        real(8), pointer :: x(:) => null()
        type(cloud), pointer :: next => null()
    end type
    type(cloud), target, save :: first
end module

module noise
    implicit none
    integer(8) :: seed = 12345
contains
    real(8) function draw()
        seed = mod(seed*16807_8, 2147483647_8)
        draw = real(seed, 8)/2147483647.0d0
    end function
end module

module filters
    implicit none
    type, abstract :: filter
    end type
    type, extends(filter) :: damping
        real(8) :: factor = 1
    end type
    class(filter), allocatable :: active
    real(8) :: mean = 0
end module

program explained
    use mpi
    use scrf
    use time_scheme
    use particles
    use noise
    use filters
    implicit none
    save
    character(len=16) :: omission
    integer :: step, rank, ierror
    logical :: found
    real(8) :: phase, amplitude(4), total, sum_of_all
    common /forcing/ phase, amplitude

    call get_command_argument(1, omission)
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    allocate (u(32, 16), du(32, 16), du_old(32, 16), work(32, 16), first%x(8), first%next)
    allocate (damping :: active)
    allocate (first%next%x(8))
    u = 0; du = 0; du_old = 0; work = 0; phase = 0; amplitude = [1, 2, 3, 4]; step = 0
    first%x = 1; first%next%x = rank
    call scr_init()
    call scr_restore(state, found)
    do while (step < 24)
        step = step + 1
        call advance()
        call pause()
        if (mod(step, 4) == 0) call scr_checkpoint(state, "ck."//achar(64 + step/4))
    end do
    total = sum(u) + mean
    call MPI_Reduce(total, sum_of_all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) then
        open (10, file="result")
        write (10, *) sum_of_all
        close (10)
    end if
    call scr_finalize()
    call MPI_Finalize(ierror)

contains

    subroutine state(s)
        class(scr_state), intent(inout) :: s
        call s%same("step", step)
        call s%field("u", u)
        if (omission /= "du_old") call s%field("du_old", du_old)
        if (omission /= "phase") call s%field("phase", phase)
        if (omission /= "cloud") call s%field("cloud", first%next%x)
        if (omission /= "seed") call s%field("seed", seed)
        if (omission /= "mean") call s%field("mean", mean)
        select type (active)
        type is (damping)
            if (omission /= "filter") call s%field("filter", active%factor)
        end select
        if (omission /= "count") call s%field("count", count)
    end subroutine

    subroutine advance()
        integer, save :: calls = 0
        calls = calls + 1
        count = count + 1
        phase = phase + 0.1d0
        first%next%x = first%next%x + 0.01d0*u(1:8, 1)
        work = cos(u) + amplitude(2)*sin(phase) + draw()
        if (mod(count, 5) == 0) work = work + 1
        du = 0.01d0*work + 0.001d0*sum(first%next%x)
        u = u + 1.5d0*du - 0.5d0*du_old
        select type (active)
        type is (damping)
            active%factor = 0.999d0*active%factor
            u = u*active%factor
        end select
        mean = mean + sum(u)
        du_old = du
    end subroutine

    subroutine pause()
        integer(8) :: begin, now, rate
        call system_clock(begin, rate)
        do
            call system_clock(now)
            if (now - begin > rate/50) exit
        end do
        call MPI_Barrier(MPI_COMM_WORLD, ierror)
    end subroutine

end program
