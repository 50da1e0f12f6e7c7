! Usage: sea complete|OMISSION
! A sea for tests/mpi/explained.sh: modules with allocatable arrays, a flow that goes by the scheme of Adams and Bashforth of the third
! order, a temperature that goes by leap-frog with a filter, and a wind with random numbers. Its list lacks the part of the state that
! is named, or nothing. The result is in the file `result`.
module grid
    implicit none
    integer, parameter :: nx = 24, ny = 10
    real(8), allocatable :: depth(:, :)
end module

module flow
    implicit none
    real(8), allocatable :: eta(:, :), rate(:, :), rate_before(:, :), rate_long_before(:, :)
    !> Steps that the scheme can look back.
    integer :: order = 0
end module

module temperature
    implicit none
    real(8), allocatable :: now(:, :), before(:, :), after(:, :)
    complex(8), allocatable :: modes(:)
end module

module weather
    implicit none
    integer(8) :: seed = 4711
    real(8) :: gust = 0
    logical :: sluice_open = .false.
    real(8), allocatable :: sponge(:)
contains
    real(8) function draw()
        seed = mod(seed*48271_8, 2147483647_8)
        draw = real(seed, 8)/2147483647.0d0 - 0.5d0
    end function
end module

module diagnostics
    implicit none
    !> `mean` is written at the end; nothing depends on the others.
    real(8) :: mean = 0, largest = 0, seconds = 0
    integer :: calls = 0
end module

program sea
    use mpi
    use scrf
    use grid
    use flow
    use temperature
    use weather
    use diagnostics
    implicit none
    integer :: step, rank, ranks, ierror, i
    logical :: found
    character(len=20) :: omission
    real(8) :: total, own

    call get_command_argument(1, omission)
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    allocate (depth(nx, ny), eta(0:nx + 1, ny), rate(nx, ny), rate_before(nx, ny), rate_long_before(nx, ny))
    allocate (now(nx, ny), before(nx, ny), after(nx, ny), modes(6), sponge(ny))
    depth = 1 + 0.01d0*rank
    eta = 0; rate = 0; rate_before = 0; rate_long_before = 0; sponge = 0; after = 0
    now = reshape([(0.01d0*i, i=1, nx*ny)], [nx, ny])
    before = now
    modes = [(cmplx(i, -i, 8)/10, i=1, 6)]
    step = 0
    call scr_init()
    call scr_restore(state, found)
    do while (step < 24)
        step = step + 1
        call advance()
        if (mod(step, 4) == 0) call scr_checkpoint(state, "ck."//achar(64 + step/4))
    end do
    own = sum(eta(1:nx, :)) + sum(now) + mean
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
        call s%same("step", step)
        call s%field("eta", eta(1:nx, :), whole=[nx*ranks, ny], at=[nx*rank + 1, 1])
        call s%field("now", now)
        if (has("rate_before")) call s%field("rate_before", rate_before)
        if (has("rate_long_before")) call s%field("rate_long_before", rate_long_before)
        if (has("order")) call s%same("order", order)
        if (has("before")) call s%field("before", before)
        if (has("modes")) call s%field("modes", modes)
        if (has("seed")) call s%field("seed", seed)
        if (has("gust")) call s%field("gust", gust)
        if (has("sluice_open")) call s%field("sluice_open", sluice_open)
        if (has("sponge")) call s%field("sponge", sponge)
        if (has("mean")) call s%field("mean", mean)
    end subroutine

    subroutine advance()
        real(8), parameter :: weights(3, 3) = reshape([12, 0, 0, 18, -6, 0, 23, -16, 5]/12d0, [3, 3])
        integer(8) :: begun, ticks, per_second
        call system_clock(begun, per_second)
        calls = calls + 1
        order = min(order + 1, 3)
        gust = 0.9d0*gust + draw()
        if (step == 3) sluice_open = .true.
        call exchange()
        rate = 0.1d0*depth*(eta(0:nx - 1, :) - eta(2:nx + 1, :)) + 0.01d0*gust + 0.05d0*sin(now)
        rate(1, :) = rate(1, :) - sponge
        if (sluice_open) rate(nx, :) = rate(nx, :) - 0.02d0
        eta(1:nx, :) = eta(1:nx, :) + weights(1, order)*rate + weights(2, order)*rate_before &
            + weights(3, order)*rate_long_before
        rate_long_before = rate_before
        rate_before = rate
        sponge = 0.95d0*sponge + 0.05d0*eta(1, :)
        after = before + 0.02d0*(cos(eta(1:nx, :)) - now + real(sum(modes), 8))
        modes = modes*exp(cmplx(-0.01d0, 0.3d0, 8))
        ! The filter of Robert and Asselin.
        before = now + 0.1d0*(before - 2*now + after)
        now = after
        mean = mean + sum(eta(1:nx, :))/24
        largest = max(largest, maxval(eta))
        do
            call system_clock(ticks)
            if (ticks - begun > per_second/50) exit
        end do
        seconds = seconds + real(ticks - begun, 8)/real(per_second, 8)
    end subroutine

    !> Fetches the columns of the neighbours, around the globe.
    subroutine exchange()
        integer :: east, west
        east = mod(rank + 1, ranks)
        west = mod(rank + ranks - 1, ranks)
        call MPI_Sendrecv(eta(nx, :), ny, MPI_DOUBLE_PRECISION, east, 0, eta(0, :), ny, MPI_DOUBLE_PRECISION, west, 0, &
            MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
        call MPI_Sendrecv(eta(1, :), ny, MPI_DOUBLE_PRECISION, west, 1, eta(nx + 1, :), ny, MPI_DOUBLE_PRECISION, east, 1, &
            MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    end subroutine

end program
