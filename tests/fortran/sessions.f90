!> Sessions on communicators, as tests/c/sessions.c in Fortran: one of all ranks, one of every second rank, and the one
!> of MPI_COMM_WORLD are open at once, and each restarts from its own checkpoint.
program sessions
    use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64
    use mpi
    use scrf
    implicit none
    type(scr_session), save :: whole, half
    character(len=8) :: half_name
    integer :: rank, half_comm, round, ierror
    integer, save :: steps = 0, grid(4) = 0

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), 0, half_comm, ierror)
    write (half_name, "(a,i0)") "half.", mod(rank, 2)
    call bad_input()
    do round = 1, 2
        call open_sessions()
        call restart(round == 2)
        call write_checkpoints()
        call close_sessions()
    end do
    if (rank == 0) print "(a)", "sessions: each restarts from its own checkpoint"
    call MPI_Finalize(ierror)

contains

    subroutine open_sessions()
        character(len=16) :: flush
        integer(int64) :: status

        call scr_init()
        call whole%create(MPI_COMM_WORLD, "whole")
        call half%create(int(half_comm, int64), half_name, status)
        call check(status == SCR_SUCCESS, "create, int64")
        call half%config("SCR_FLUSH=7")
        call half%init()
        call whole%init(ierror)
        call check(ierror == SCR_SUCCESS, "init")
        call half%config("SCR_FLUSH", flush)
        call check(flush == "7", "a parameter of one session")
        call whole%config("SCR_FLUSH", flush)
        call check(flush /= "7", "and not of another")
    end subroutine open_sessions

    subroutine close_sessions()
        call whole%free(ierror)
        call check(ierror /= SCR_SUCCESS, "free before finalize")
        call whole%finalize()
        call half%finalize()
        call half%free()
        call whole%free(ierror)
        call check(ierror == SCR_SUCCESS, "free")
        call scr_finalize()
    end subroutine close_sessions

    !> One restart in the other: the loop over the checkpoints of MPI_COMM_WORLD goes on after it.
    subroutine restart(expected)
        logical, intent(in) :: expected
        character(len=32) :: name
        logical :: valid
        integer :: turns

        turns = 0
        do while (scr_next_restart(name, valid))
            turns = turns + 1
            call check(number_in(scr_routed(file_in("of_world"))) == 2, "the file of MPI_COMM_WORLD")
            call restart_whole(.true.)
            valid = .true.
        end do
        call check(valid .eqv. expected, "the checkpoint of MPI_COMM_WORLD")
        call check(turns == merge(1, 0, expected), "one checkpoint is tried")
        if (.not. expected) call restart_whole(.false.)
        call restart_half(expected)
    end subroutine restart

    subroutine restart_whole(expected)
        logical, intent(in) :: expected
        character(len=32) :: name
        character(len=SCR_MAX_FILENAME) :: file
        integer :: found, turns, ranks, files
        integer(int64) :: path_index

        turns = 0
        do while (whole%next_restart(name, found))
            turns = turns + 1
            call check(name == "of_whole", "the name of the checkpoint")
            call whole%restart_ranks(ranks)
            call whole%restart_file_count(ranks - 1, files)
            call check(files == 1, "a file of each process")
            path_index = 1
            call whole%restart_file(int(rank, int64), path_index, file)
            call check(number_in(whole%routed(file)) == 100 + rank, "the file of the session")
            found = 1
        end do
        call check(turns == merge(1, 0, expected) .and. found == turns, "the checkpoint of the session")
    end subroutine restart_whole

    subroutine restart_half(expected)
        logical, intent(in) :: expected
        character(len=32) :: name
        logical :: found

        call half%have_restart(found, name)
        call check(found .eqv. expected, "have_restart")
        if (found) call check(name == "of_half.2", "the newest checkpoint")
        grid = 0
        steps = 0
        call half%restore(list_half, found)
        call check(found .eqv. expected, "restore")
        if (expected) call check(steps == 2 .and. all(grid == 1000 + rank), "what is restored")
    end subroutine restart_half

    subroutine list_half(s)
        class(scr_state), intent(inout) :: s

        call s%same("steps", steps)
        call s%field("grid", grid)
    end subroutine list_half

    !> One dataset is written while another one is open.
    subroutine write_checkpoints()
        character(len=SCR_MAX_FILENAME) :: file
        logical :: flag
        integer :: wanted

        call half%checkpoint(list_half, "of_half.1")
        grid = 1000 + rank
        steps = 2
        call scr_start_output("of_world", SCR_FLAG_CHECKPOINT)
        call whole%start_output("of_whole", SCR_FLAG_CHECKPOINT, ierror)
        call check(ierror == SCR_SUCCESS, "start_output")
        call whole%route_file(file_in("whole/of_whole"), file)
        call write_number(trim(file), 100 + rank)
        call half%checkpoint(list_half, "of_half.2", .true., ierror)
        call check(ierror == SCR_SUCCESS, "checkpoint")
        call write_number(scr_routed(file_in("of_world")), 2)
        call whole%complete_output(1)
        call scr_complete_output(rank >= 0, ierror)
        call check(ierror == SCR_SUCCESS, "scr_complete_output")
        call half%checkpoint_if_needed(list_half, flag)
        call check(.not. flag, "checkpoint_if_needed")
        ! No process has failed, so all go on; a dataset that is open does not count.
        call whole%start_output("lost", SCR_FLAG_CHECKPOINT)
        call whole%repair(MPI_COMM_WORLD, ierror)
        call check(ierror == SCR_SUCCESS, "repair")
        call whole%have_restart(flag, file)
        call check(flag .and. file == "of_whole", "the newest checkpoint after repair")
        call half%should_exit(flag)
        call check(.not. flag, "should_exit")
        call whole%need_checkpoint(wanted)
        call check(wanted == 0 .or. wanted == 1, "need_checkpoint")
        call whole%current("never", ierror)
        call check(ierror /= SCR_SUCCESS, "current")
        call half%delete("of_half.1", ierror)
        call check(ierror == SCR_SUCCESS, "delete")
    end subroutine write_checkpoints

    subroutine bad_input()
        type(scr_session) :: wrong
        integer(int64) :: status
        logical :: flag

        call wrong%init(ierror)
        call check(ierror /= SCR_SUCCESS, "a session that was not made")
        call wrong%free(ierror)
        call check(ierror /= SCR_SUCCESS, "free of none")
        call wrong%create(MPI_COMM_WORLD, "a/b", ierror)
        call check(ierror /= SCR_SUCCESS, "a name with a slash")
        call wrong%create(MPI_COMM_NULL, "name", status)
        call check(status /= SCR_SUCCESS, "no communicator")
        call wrong%create(MPI_COMM_WORLD, "unused")
        call wrong%have_restart(flag, ierror=status)
        call check(status /= SCR_SUCCESS .and. .not. flag, "before init")
        call wrong%repair(MPI_COMM_NULL, ierror)
        call check(ierror /= SCR_SUCCESS, "repair on no communicator")
        call wrong%free(status)
        call check(status == SCR_SUCCESS, "free")
        call scr_repair(MPI_COMM_NULL, ierror)
        call check(ierror /= SCR_SUCCESS, "scr_repair on no communicator")
    end subroutine bad_input

    !> The name of this process's file in a dataset.
    function file_in(dataset) result(file)
        character(len=*), intent(in) :: dataset
        character(len=:), allocatable :: file
        character(len=12) :: number

        write (number, "(i0)") rank
        file = dataset//"/"//trim(number)
    end function file_in

    subroutine write_number(file, value)
        character(len=*), intent(in) :: file
        integer, intent(in) :: value
        integer :: unit

        open (newunit=unit, file=file, status="replace")
        write (unit, "(i0)") value
        close (unit)
    end subroutine write_number

    function number_in(file) result(value)
        character(len=*), intent(in) :: file
        integer :: value, unit

        open (newunit=unit, file=file, status="old", action="read")
        read (unit, *) value
        close (unit)
    end function number_in

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what
        integer :: status

        if (holds) return
        write (error_unit, "(a,i0,2a)") "sessions: rank ", rank, ": not so: ", what
        call MPI_Abort(MPI_COMM_WORLD, 1, status)
    end subroutine check

end program sessions
