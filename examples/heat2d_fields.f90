!> Heat in a square plate: an MPI program which survives a lost node through SCR. It is heat2d.f90 with
!> checkpoints of fields instead of files.
!>
!> The plate is divided by rows. The routine "state" lists what a checkpoint must have; each rank's rows
!> are a part of the whole plate. After a failure the program is simply started again, on any number of
!> ranks, and goes on from the newest checkpoint. The result is the same bit for bit.
!>
!> Usage: heat2d_fields [size N] [steps N] [every N] [delay MS] [output FILE]
!>   size    interior points in each direction (256)
!>   steps   time steps (100)
!>   every   steps between checkpoints; 0 asks SCR when it is time (10)
!>   delay   milliseconds to wait in each step, to leave time for a failure (0)
!>   output  file for the final field, none if blank (heat2d.out)
!>
!> Run it below the prefix directory (SCR_PREFIX, else the current directory).
program heat2d_fields
    use, intrinsic :: iso_c_binding, only: c_int
    use, intrinsic :: iso_fortran_env, only: error_unit, output_unit, real64
    use mpi_f08
    use scrf
    implicit none
    save                ! so that the routine "state" needs no executable stack

    character(len=*), parameter :: PROGRAM_NAME = "heat2d"

    integer :: size_x = 256, last_step = 100, every = 10, delay = 0
    character(len=256) :: output_file = "heat2d.out"

    integer :: rank, ranks, first, rows, step, ierror
    logical :: restarted, time_to_write, time_to_stop
    real(real64), allocatable :: field(:, :), next(:, :)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call read_arguments()

    ! Rows first+1 to first+rows are ours, with one row of each neighbour on either side.
    first = first_row(rank)
    rows = first_row(rank + 1) - first
    allocate (field(0:size_x + 1, 0:rows + 1), source=0.0_real64)
    if (rank == 0) field(:, 0) = 1.0_real64
    allocate (next, source=field)

    call scr_init()
    step = 0
    call scr_restore(state, restarted)
    if (restarted) call say("restarted from "//PROGRAM_NAME//"."//text(step))
    if (.not. restarted) call say("no checkpoint, starting from step 0")

    time_to_stop = .false.
    do while (step < last_step .and. .not. time_to_stop)
        step = step + 1
        call exchange_borders()
        call advance()
        if (delay > 0) call wait_milliseconds(delay)

        if (every > 0) then
            time_to_write = mod(step, every) == 0
        else
            call scr_need_checkpoint(time_to_write)
        end if
        if (time_to_write) then
            call scr_checkpoint(state, PROGRAM_NAME//"."//text(step), ierror=ierror)
            if (ierror == SCR_SUCCESS) call say("checkpoint "//PROGRAM_NAME//"."//text(step))
            call scr_should_exit(time_to_stop)
        end if
    end do

    if (step == last_step) then
        call finish()
    else
        call say("stopping early, as SCR asks")
    end if
    call scr_finalize()
    call MPI_Finalize()

contains

    !> What a checkpoint has. SCR calls this to write and to read. The rows beside ours are left out.
    subroutine state(s)
        class(scr_state), intent(inout) :: s

        call s%same("step", step)
        call s%field("field", field(1:size_x, 1:rows), whole=[size_x, size_x], at=[1, first + 1])
    end subroutine state

    !> Fetches the neighbours' rows beside ours.
    subroutine exchange_borders()
        integer :: above, below, points

        points = size_x + 2
        above = merge(rank - 1, MPI_PROC_NULL, rank > 0)
        below = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
        call MPI_Sendrecv(field(:, 1), points, MPI_DOUBLE_PRECISION, above, 0, &
            field(:, rows + 1), points, MPI_DOUBLE_PRECISION, below, 0, MPI_COMM_WORLD, &
            MPI_STATUS_IGNORE)
        call MPI_Sendrecv(field(:, rows), points, MPI_DOUBLE_PRECISION, below, 1, &
            field(:, 0), points, MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, &
            MPI_STATUS_IGNORE)
    end subroutine exchange_borders

    !> One explicit time step. Each point is computed alike wherever it is, so that the result
    !> does not depend on the number of ranks.
    subroutine advance()
        integer :: i, j

        do j = 1, rows
            do i = 1, size_x
                next(i, j) = field(i, j) + 0.2_real64*(field(i - 1, j) + field(i + 1, j) &
                    + field(i, j - 1) + field(i, j + 1) - 4.0_real64*field(i, j))
            end do
        end do
        field(1:size_x, 1:rows) = next(1:size_x, 1:rows)
    end subroutine advance

    !> Gathers the field on rank 0, which writes it and prints a sum.
    subroutine finish()
        real(real64), allocatable :: whole(:, :)
        integer :: counts(0:ranks - 1), offsets(0:ranks - 1), i, unit, iostat
        character(len=32) :: sum_text

        do i = 0, ranks - 1
            offsets(i) = size_x*first_row(i)
            counts(i) = size_x*first_row(i + 1) - offsets(i)
        end do
        allocate (whole(size_x, merge(size_x, 0, rank == 0)))
        call MPI_Gatherv(field(1:size_x, 1:rows), counts(rank), MPI_DOUBLE_PRECISION, &
            whole, counts, offsets, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
        if (rank /= 0) return

        write (sum_text, "(es24.16)") sum(whole)
        call say("finished step "//text(step)//", sum of the field "//trim(adjustl(sum_text)))
        if (output_file == "") return
        open (newunit=unit, file=output_file, access="stream", form="unformatted", &
            status="replace", action="write", iostat=iostat)
        if (iostat == 0) write (unit, iostat=iostat) whole
        if (iostat /= 0) call give_up("cannot write "//trim(output_file))
        close (unit)
    end subroutine finish

    !> Rows of the plate before those of rank r.
    pure function first_row(r) result(row)
        integer, intent(in) :: r
        integer :: row

        row = (size_x/ranks)*r + min(r, mod(size_x, ranks))
    end function first_row

    subroutine read_arguments()
        character(len=256) :: key, value
        integer :: i, iostat

        do i = 1, command_argument_count(), 2
            call get_command_argument(i, key)
            call get_command_argument(i + 1, value)
            iostat = 0
            select case (key)
            case ("size")
                read (value, *, iostat=iostat) size_x
            case ("steps")
                read (value, *, iostat=iostat) last_step
            case ("every")
                read (value, *, iostat=iostat) every
            case ("delay")
                read (value, *, iostat=iostat) delay
            case ("output")
                output_file = value
            case default
                call give_up("unknown argument "//trim(key))
            end select
            if (iostat /= 0) call give_up(trim(key)//" wants a number, not "//trim(value))
        end do
        if (size_x < ranks .or. size_x > 30000) &
            call give_up("size must be from the number of ranks to 30000")
    end subroutine read_arguments

    subroutine say(what)
        character(len=*), intent(in) :: what

        if (rank /= 0) return
        write (output_unit, "(3a)") PROGRAM_NAME, ": ", what
        flush (output_unit)
    end subroutine say

    subroutine give_up(why)
        character(len=*), intent(in) :: why

        if (rank == 0) write (error_unit, "(3a)") PROGRAM_NAME, ": ", why
        call MPI_Abort(MPI_COMM_WORLD, 2)
    end subroutine give_up

    pure function text(number)
        integer, intent(in) :: number
        character(len=:), allocatable :: text
        character(len=16) :: buffer

        write (buffer, "(i0)") number
        text = trim(buffer)
    end function text

    subroutine wait_milliseconds(duration)
        integer, intent(in) :: duration
        integer(c_int) :: ignored
        interface
            function usleep(microseconds) bind(C) result(status)
                import :: c_int
                implicit none
                integer(c_int), value, intent(in) :: microseconds
                integer(c_int) :: status
            end function usleep
        end interface

        ignored = usleep(int(1000*duration, c_int))
    end subroutine wait_milliseconds

end program heat2d_fields
