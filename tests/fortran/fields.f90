!> Checkpoints of fields: the calls of a list, objects that list themselves, and what is wrong. Usage: fields write,
!> then fields read on as many ranks or on others.
module fields_object
    use, intrinsic :: iso_fortran_env, only: real64
    use scrf
    implicit none
    private

    type, public :: cell
        real(real64) :: mass = 0
        integer :: neighbours(3) = 0
    end type cell

    !> A state that lists itself.
    type, public, extends(scr_state) :: cell_state
        type(cell), allocatable :: cells(:)
        integer :: calls = 0
    contains
        procedure :: list => list_cells
    end type cell_state

    !> One that does not.
    type, public, extends(scr_state) :: mute_state
    end type mute_state

contains

    subroutine list_cells(self)
        class(cell_state), intent(inout) :: self
        integer :: number, i

        self%calls = self%calls + 1
        number = size(self%cells)
        call self%count("cells", number)
        if (number /= size(self%cells)) then
            deallocate (self%cells)
            allocate (self%cells(number))
        end if
        do i = 1, number
            call self%begin_list("cell", i)
            call self%same("mass", self%cells(i)%mass)
            call self%same("neighbours", self%cells(i)%neighbours)
            call self%end_list()
        end do
    end subroutine list_cells

end module fields_object

program fields
    use, intrinsic :: iso_fortran_env, only: int32, int64, output_unit, real32, real64
    use fields_object
    use mpi
    use scrf
    implicit none

    integer :: rank, ranks, old_ranks, number, case, calls, ierror
    integer(int32) :: step
    integer(int64) :: whole(2), at(2), wide_number, wide_ierror
    integer(int64), allocatable :: stored(:), stored_whole(:), stored_at(:)
    real(real32) :: narrow(3)
    real(real64) :: grid(0:5, 12), wide(3), kept
    real(real64), allocatable :: own(:), parts(:, :)
    character(len=8) :: what
    character(len=:), allocatable :: path
    logical :: found, stop_now
    integer(int64) :: stop_number
    type(cell_state) :: cells, others
    type(mute_state) :: mute

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    call get_command_argument(1, what)
    call scr_init()
    if (what == "write") then
        call write_all()
    else
        call read_all()
    end if
    call scr_finalize()
    call MPI_Finalize(ierror)

contains

    !> The columns of the grid are divided, and its first and last row are nobody's. 12 columns in all.
    subroutine state(s)
        class(scr_state), intent(inout) :: s
        integer :: width

        width = 12/ranks
        calls = calls + 1
        call s%same("step", step)
        call s%field("grid", grid(1:4, 1:width), whole=[4, 12], at=[1, rank*width + 1])
        whole = [4, 12]
        at = [1, rank*width + 1]
        call s%field("wide grid", grid(4:1:-1, 1:width), whole, at)
        call s%field("narrow", narrow)
    end subroutine state

    !> What the program that writes has in addition.
    subroutine more(s)
        class(scr_state), intent(inout) :: s
        integer :: unit

        call state(s)
        call s%array("own", own)
        call s%field("gone", kept)
        wide_number = 5000000000_int64
        call s%count("wide number", wide_number)
        call check(s%pass() == SCR_PASS_WRITE .and. s%stored_ranks() == 0, "the state is written")
        call s%stored("own", stored)
        call check(.not. allocated(stored), "there is nothing stored")
        open (newunit=unit, file=s%file("mesh"), status="replace", action="write")
        write (unit, "(i0)") rank
        close (unit)
    end subroutine more

    !> A program that has changed, and restores what any number of ranks has written.
    subroutine changed(s)
        class(scr_state), intent(inout) :: s
        integer :: width, old, unit

        width = 12/ranks
        call check(s%pass() /= SCR_PASS_WRITE, "the state is read")
        old_ranks = s%stored_ranks()
        call s%same("step", step)
        call s%field("grid", grid(1:4, 1:width), whole=[4, 12], at=[1, rank*width + 1])
        call s%gone("wide grid")
        call s%gone("gone")
        call s%gone("own")
        call s%field("new", kept, missing="keep")
        call s%count("wide number", wide_number)
        call s%stored("grid", stored, stored_whole, stored_at)
        call check(all(stored_whole == [4, 12]), "the whole is told")
        call check(all(stored_at == merge([1, rank*width + 1], 1, ranks == old_ranks)), "where it begins is told")
        call s%stored("nothing", stored)
        call check(.not. allocated(stored), "there is no such field")
        if (s%pass() == SCR_PASS_READ) allocate (parts(3, 0:old_ranks - 1))
        do old = 0, old_ranks - 1
            call s%from_rank(old)
            if (s%pass() == SCR_PASS_READ) then
                call s%field("narrow", parts(:, old), kind="convert")
                call s%from_rank(old)
                open (newunit=unit, file=s%file("mesh"), status="old", action="read")
                read (unit, *) number
                close (unit)
                call check(number == old, "the file of an old rank")
            else
                call s%field("narrow", wide, kind="convert")
            end if
        end do
    end subroutine changed

    !> Lists with what is wrong in a case, on one rank or on all.
    subroutine wrong(s)
        class(scr_state), intent(inout) :: s
        logical :: here

        here = rank == ranks - 1
        call s%same("step", step)
        select case (case)
        case (1)
            call s%same("step", step)
        case (2)
            call s%field("beyond", wide, whole=[6], at=[5])
        case (3)
            call s%field(repeat("n", 1024), wide)
        case (4)
            if (here) call s%field("only here", wide)
        case (5)
            call s%field("two", wide, whole=[3, 1], at=[1, 1])
        case (6)
            call s%field("word", wide, missing="kep")
        case (7)
            call s%field("hole", wide, whole=[3*ranks + 1], at=[3*rank + 1])
        case (8)
            call scr_drop("nothing", ierror)
            call check(ierror /= 0, "no other call is possible in a list")
        case (9)
            if (here) call s%fail("the mesh is not ready")
        case (10)
            call s%field(" ", wide)
        case (11)
            call s%field("alone", wide, whole=[3])
        case (12)
            call s%from_rank(0)
            call s%field("old", wide)
        case (13)
            call s%begin_list("open")
        case (14)
            call s%field("line"//achar(10)//"feed", wide)
        case (15)
            call s%field("before", wide, whole=[3*ranks], at=[3*rank])
        case (16)
            call s%array("word", own, ranks="all")
        end select
        call s%field("after", wide)
    end subroutine wrong

    !> The same field with another type, or of other extents: a checkpoint that does not fit.
    subroutine unfit(s)
        class(scr_state), intent(inout) :: s

        call s%same("step", step)
        if (case == 1) call s%field("grid", narrow, whole=[4], at=[1])
        if (case == 2) call s%field("narrow", wide)
        if (case == 3) call s%field("another", wide)
    end subroutine unfit

    subroutine write_all()
        call scr_restore(state, found)
        call check(.not. found, "there is no checkpoint")
        call set()
        call scr_checkpoint(more, name="t10", output=.true.)
        call scr_checkpoint(mute, ierror=ierror)
        call check(ierror == 1, "an object without a list")
        call scr_checkpoint(state, name=repeat("n", 1024), ierror=ierror)
        call check(ierror == 1, "a name that is too long")
        if (rank == 0) call mute%field("outside", wide)
        do case = 1, 16
            print "(a,i0)", "case ", case
            flush (output_unit)
            call scr_checkpoint(wrong, "bad", ierror=wide_ierror)
            call check(wide_ierror == 1, "a list that is wrong")
        end do
        call wipe()
        do case = 1, 3
            call scr_restore(unfit, found, ierror)
            call check(ierror == 1 .and. .not. found, "a list that does not fit")
            call check(step == 0 .and. all(grid < 0) .and. all(narrow < 0) .and. all(wide < 0), "nothing changes")
        end do
        calls = 0
        call scr_restore(reader, found, ierror)
        call check(ierror == 0 .and. found .and. calls == 2, "the checkpoint is restored")
        call compare()
        call check(all(narrow == real([1, 2, 3]*(rank + 1), real32)), "a field of each rank's own")
        call check(size(own) == rank + 2 .and. all(own == rank), "an allocatable array")

        call scr_checkpoint_if_needed(state, stop_now)
        call check(.not. stop_now, "no reason to stop")
        call scr_checkpoint_if_needed(state, stop_number, ierror)
        call check(stop_number == 0 .and. ierror == 0, "no reason to stop, as a number")

        allocate (cells%cells(3), others%cells(0))
        cells%cells%mass = [1, 2, 3]
        cells%cells(2)%neighbours = [7, 8, 9]
        call scr_checkpoint(cells, "cells", output=.true.)
        call scr_restore(others, found)
        call check(found .and. cells%calls == 1 .and. others%calls == 2, "an object lists itself")
        call check(size(others%cells) == 3 .and. all(others%cells%mass == [1, 2, 3]), "scalars of a derived type")
        call check(all(others%cells(2)%neighbours == [7, 8, 9]), "arrays of a derived type")
        call scr_delete("cells")
    end subroutine write_all

    !> What more has written, and the file beside it.
    subroutine reader(s)
        class(scr_state), intent(inout) :: s
        integer :: unit

        call state(s)
        call s%array("own", own)
        call s%gone("gone")
        call s%count("wide number", wide_number)
        if (s%pass() /= SCR_PASS_READ) return
        path = s%file("mesh")
        open (newunit=unit, file=path, status="old", action="read")
        read (unit, *) number
        close (unit)
        call check(number == rank, "a file in the same dataset")
    end subroutine reader

    subroutine read_all()
        call wipe()
        kept = 42
        call scr_restore(changed, found)
        call check(found, "there is a checkpoint")
        call compare()
        call check(wide_number == 5000000000_int64 .and. kept == 42, "a count, and a new field")
        call check(size(parts, 2) == old_ranks, "all old ranks")
        do number = 0, old_ranks - 1
            call check(all(parts(:, number) == [1, 2, 3]*(number + 1)), "the field of an old rank")
        end do
    end subroutine read_all

    subroutine set()
        integer :: i, j

        step = 10
        do j = 1, 12
            do i = 0, 5
                grid(i, j) = element(i, j)
            end do
        end do
        narrow = real([1, 2, 3]*(rank + 1), real32)
        wide = 0
        kept = 1
        own = [(real(rank, real64), i=1, rank + 2)]
    end subroutine set

    !> An element of this rank's columns.
    pure function element(i, j)
        integer, intent(in) :: i, j
        real(real64) :: element

        element = 100*i + rank*(12/ranks) + j
    end function element

    subroutine wipe()
        step = 0
        grid = -1
        narrow = -1
        wide = -1
        wide_number = 0
        if (allocated(own)) deallocate (own)
    end subroutine wipe

    subroutine compare()
        integer :: i, j

        call check(step == 10, "a scalar that is the same on all")
        do j = 1, 12/ranks
            do i = 1, 4
                call check(grid(i, j) == element(i, j), "a part of a whole")
            end do
        end do
        call check(all(grid(0, :) == -1) .and. all(grid(5, :) == -1), "what is no part of it stays")
    end subroutine compare

    subroutine check(holds, claim)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: claim

        if (holds) return
        print "(a,i0,2a)", "rank ", rank, ": not so: ", claim
        flush (output_unit)
        call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end subroutine check

end program fields
