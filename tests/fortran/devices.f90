! State on a device from Fortran: arrays within OpenACC's and OpenMP's blocks, a copy function, streams, and what is wrong.
! Without a device these blocks run on the processor, and mean its memory. Compiled as it is, with OpenACC, and with OpenMP.
module on_device
    use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_funloc, c_int, c_intptr_t, c_loc, c_null_ptr, &
        c_ptr, c_size_t
    use, intrinsic :: iso_fortran_env, only: int64, real64
    use scrf
    implicit none

    real(real64) :: temperature(5, 4)
    ! The device of this program: nobody can read at its addresses, from this one on.
    integer(c_intptr_t), parameter :: BASE = 65536
    real(real64), target :: memory(100)
    integer :: rank = 0, ranks = 1, step = 0, copies = 0
    character(len=6) :: wrong = ""

contains

    subroutine state(s)
        class(scr_state), intent(inout) :: s
        real(real64), pointer :: remote(:)
        logical :: here

        here = rank == ranks - 1
        call s%same("step", step)
        if (here .and. wrong == "where") call s%field("word", step, where="moon")
        if (here .and. wrong == "device") call s%same("step two", step, where="device")
        !$acc host_data use_device(temperature)
        !$omp target data use_device_addr(temperature)
        call s%field("temperature", temperature, whole=[5, 4*ranks], at=[1, 4*rank + 1], where="host")
        !$omp end target data
        !$acc end host_data
        call s%stream(1)
        call s%stream(2_c_intptr_t)
        call s%stream(c_null_ptr)
        call c_f_pointer(transfer(BASE, c_null_ptr), remote, [100])
        if (here .and. wrong == "both") then
            call s%copy(c_funloc(copy))
            call s%field("remote", remote, where="host")
        end if
        call s%copy(c_funloc(copy), c_loc(memory))
        call s%field("remote", remote(11:100:2))
    end subroutine state

    function copy(context, to, from, bytes, direction) bind(C) result(status)
        type(c_ptr), value :: context, to, from
        integer(c_size_t), value :: bytes
        integer(c_int), value :: direction
        integer(c_int) :: status
        character(kind=c_char), pointer :: mine(:), theirs(:)
        integer(c_intptr_t) :: place

        status = 0
        copies = copies + 1
        if (.not. c_associated(context)) status = 3
        if (wrong == "copy" .and. rank == ranks - 1) status = 9
        if (status /= 0) return
        call c_f_pointer(context, mine, [800])
        if (direction == SCR_COPY_OUT) then
            place = transfer(from, place) - BASE
            call c_f_pointer(to, theirs, [bytes])
            theirs = mine(place + 1:place + bytes)
        else
            place = transfer(to, place) - BASE
            call c_f_pointer(from, theirs, [bytes])
            mine(place + 1:place + bytes) = theirs
        end if
    end function copy
end module on_device

program devices
    use mpi
    use on_device
    implicit none
    integer :: ierror, i
    logical :: found
    real(real64) :: before(100)

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    call scr_init()
    memory = [(real(i + 1000*rank, real64), i=1, 100)]
    before = memory
    temperature = rank + 1
    step = 12
    !$acc enter data copyin(temperature)
    !$omp target enter data map(to: temperature)
    call scr_checkpoint(state, "ck.1", ierror=ierror)
    call check(ierror == SCR_SUCCESS, "a checkpoint")
    call check(copies > 0, "the function was called")

    call fails("where")
    call fails("device")
    call fails("both")
    call fails("copy")

    memory = -1
    temperature = -1
    step = -1
    call scr_restore(state, found, ierror)
    call check(ierror == SCR_SUCCESS .and. found, "a restart")
    !$acc exit data delete(temperature)
    !$omp target exit data map(release: temperature)
    call check(all(temperature == rank + 1) .and. step == 12, "the fields")
    call check(all(memory(11:100:2) == before(11:100:2)), "the field that is copied")
    call check(all(memory(1:10) == -1) .and. all(memory(12:100:2) == -1), "and nothing between its elements")
    call scr_finalize()
    if (rank == 0) print "(a)", "devices: as expected"
    call MPI_Finalize(ierror)

contains

    subroutine fails(what)
        character(len=*), intent(in) :: what

        wrong = what
        call scr_checkpoint(state, "bad", ierror=ierror)
        call check(ierror /= SCR_SUCCESS, "no checkpoint: "//what)
        wrong = ""
    end subroutine fails

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: what

        if (holds) return
        print "(a, i0, 2a)", "devices: rank ", rank, ": not so: ", what
        call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end subroutine check
end program devices
