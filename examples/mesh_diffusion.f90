!> Diffusion on an unstructured mesh: an MPI program that goes on from a checkpoint on any number of ranks.
!>
!> The nodes of the mesh have numbers, in no order that the program knows. Each rank has some of them, and copies of
!> those beside them ("ghosts"), which are other ranks'. The routine "state" lists what a checkpoint must have: the
!> numbers of this rank's nodes, and fields that have a value, or a column of values, for each. Started again, also
!> with another number of ranks, each rank gets the values of the nodes that it has then. The result is the same bit
!> for bit.
!>
!> With "ghosts yes" the list of the temperatures has the ghosts, too: each rank writes its copies, which must be equal on
!> all ranks, and in a restart SCR fills them, so that no rank has to ask another one.
!>
!> Usage: mesh_diffusion [size N] [steps N] [every N] [output FILE] [ghosts yes]
!>   size    the mesh has N*N nodes (64); at most 7900
!>   steps   time steps (100)
!>   every   steps between checkpoints (10)
!>   output  file for the final temperatures, none if blank (mesh.out)
!>   ghosts  whether a checkpoint has them (no)
!>
!> Run it below the prefix directory (SCR_PREFIX, else the current directory).
program mesh_diffusion
    use, intrinsic :: iso_fortran_env, only: int64, output_unit, real64
    use mpi_f08
    use scrf
    implicit none
    save                ! so that the routine "state" needs no executable stack

    integer, parameter :: LAYERS = 4

    integer :: width = 64, last_step = 100, every = 10
    character(len=256) :: output_file = "mesh.out", name

    integer :: rank, ranks, nodes, own, step = 0, i, ierror
    logical :: restarted, time_to_stop = .false., with_ghosts = .false.
    !> The mesh: the six nodes beside each node, and the rank that has it.
    integer, allocatable :: beside(:, :), part(:)
    !> The numbers of this rank's nodes, then of its ghosts; the place of each number in that list; and the places of
    !> the six nodes beside each own one.
    integer, allocatable :: ids(:), here(:), near(:, :)
    !> The own nodes that are ghosts of other ranks; how many values each rank gets, and how many it sends us.
    integer, allocatable :: asked(:), to_send(:), send_at(:), to_get(:), get_at(:)
    real(real64), allocatable :: t(:, :), next(:, :)
    integer, allocatable :: warm_steps(:)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call read_arguments()
    call make_mesh()
    call make_lists()

    allocate (t(LAYERS, size(ids)), next(LAYERS, own), warm_steps(own))
    do i = 1, own
        t(:, i) = merge([1, 2, 3, 4], 0, ids(i) <= nodes/10)
    end do
    warm_steps = 0

    call scr_init()
    call scr_restore(state, restarted)
    if (restarted) call say("restarted from mesh.", step)
    if (.not. restarted) call say("no checkpoint, starting from step ", step)
    if (.not. (restarted .and. with_ghosts)) call exchange_ghosts()

    do while (step < last_step .and. .not. time_to_stop)
        step = step + 1
        call advance()
        call exchange_ghosts()
        if (mod(step, every) == 0) then
            write (name, "(a,i0)") "mesh.", step
            call scr_checkpoint(state, name, ierror=ierror)
            if (ierror == SCR_SUCCESS) call say("checkpoint mesh.", step)
            call scr_should_exit(time_to_stop)
        end if
    end do

    if (step == last_step) call finish()
    call scr_finalize()
    call MPI_Finalize()

contains

    !> What a checkpoint has. SCR calls this to write and to read. Ghosts are left out, or are copies that are equal.
    subroutine state(s)
        class(scr_state), intent(inout) :: s

        call s%same("step", step)
        call s%index("nodes", ids(1:own), nodes)
        if (with_ghosts) then
            call s%index("nodes and ghosts", ids, nodes, copies="equal")
            call s%field("temperature", t, index="nodes and ghosts")
        else
            call s%field("temperature", t(:, 1:own), index="nodes")
        end if
        call s%field("warm steps", warm_steps, index="nodes")
    end subroutine state

    !> Stands for a mesh that is read from a file, and divided by a library for that. Triangles cover a torus.
    subroutine make_mesh()
        integer :: i, j, node

        nodes = width*width
        allocate (beside(6, nodes), part(nodes))
        do j = 0, width - 1
            do i = 0, width - 1
                node = number(i, j)
                beside(:, node) = [number(i + 1, j), number(i, j + 1), number(i - 1, j + 1), &
                    number(i - 1, j), number(i, j - 1), number(i + 1, j - 1)]
                part(node) = i*ranks/width
            end do
        end do
    end subroutine make_mesh

    !> The numbers are dealt out like cards.
    pure function number(i, j)
        integer, intent(in) :: i, j
        integer :: number
        integer(int64) :: place

        place = modulo(i, width) + width*modulo(j, width)
        number = int(mod(7919*place, int(nodes, int64))) + 1
    end function number

    !> Which nodes are here, and who needs them.
    subroutine make_lists()
        integer, allocatable :: every_node(:)
        logical, allocatable :: needed(:)
        integer :: i, r

        every_node = [(i, i=1, nodes)]
        ids = pack(every_node, part == rank)
        own = size(ids)
        allocate (needed(nodes), source=.false.)
        do i = 1, own
            needed(beside(:, ids(i))) = .true.
        end do
        needed(ids) = .false.
        allocate (to_send(0:ranks - 1), send_at(0:ranks - 1), to_get(0:ranks - 1), get_at(0:ranks - 1))
        do r = 0, ranks - 1
            get_at(r) = size(ids) - own
            ids = [ids, pack(every_node, needed .and. part == r)]
            to_get(r) = size(ids) - own - get_at(r)
        end do
        allocate (here(nodes), source=0)
        here(ids) = every_node(:size(ids))
        allocate (near(6, own))
        do i = 1, own
            near(:, i) = here(beside(:, ids(i)))
        end do

        ! Tells each rank which of its nodes are ghosts here.
        call MPI_Alltoall(to_get, 1, MPI_INTEGER, to_send, 1, MPI_INTEGER, MPI_COMM_WORLD)
        do r = 0, ranks - 1
            send_at(r) = sum(to_send(0:r - 1))
        end do
        allocate (asked(sum(to_send)))
        call MPI_Alltoallv(ids(own + 1:), to_get, get_at, MPI_INTEGER, asked, to_send, send_at, MPI_INTEGER, &
            MPI_COMM_WORLD)
        asked = here(asked)
    end subroutine make_lists

    !> Fetches the values of the ghosts.
    subroutine exchange_ghosts()
        real(real64), allocatable :: values(:, :)

        values = t(:, asked)
        call MPI_Alltoallv(values, LAYERS*to_send, LAYERS*send_at, MPI_DOUBLE_PRECISION, &
            t(:, own + 1:), LAYERS*to_get, LAYERS*get_at, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
    end subroutine exchange_ghosts

    !> One explicit time step. Each node is computed alike wherever it is, so that the result does not depend on the
    !> number of ranks.
    subroutine advance()
        integer :: i

        do i = 1, own
            next(:, i) = t(:, i) + 0.1_real64*(t(:, near(1, i)) + t(:, near(2, i)) + t(:, near(3, i)) &
                + t(:, near(4, i)) + t(:, near(5, i)) + t(:, near(6, i)) - 6.0_real64*t(:, i))
        end do
        t(:, 1:own) = next
        where (t(1, 1:own) > 0.1_real64) warm_steps = warm_steps + 1
    end subroutine advance

    !> Gathers all on rank 0, in the order of the numbers, which writes it and prints a sum.
    subroutine finish()
        real(real64), allocatable :: whole(:, :), sums(:, :)
        integer :: unit

        ! One rank adds its value to zeros.
        allocate (whole(0:LAYERS, nodes), sums(0:LAYERS, nodes), source=0.0_real64)
        whole(0, ids(1:own)) = warm_steps
        whole(1:, ids(1:own)) = t(:, 1:own)
        call MPI_Reduce(whole, sums, size(whole), MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
        if (rank /= 0) return
        print "(a,es23.16)", "mesh: sum of the temperatures ", sum(sums(1:, :))
        call say("finished step ", step)
        if (output_file == "") return
        open (newunit=unit, file=output_file, access="stream", form="unformatted", status="replace", action="write")
        write (unit) sums
        close (unit)
    end subroutine finish

    subroutine read_arguments()
        character(len=256) :: key, value
        integer :: i

        do i = 1, command_argument_count(), 2
            call get_command_argument(i, key)
            call get_command_argument(i + 1, value)
            if (key == "size") read (value, *) width
            if (key == "steps") read (value, *) last_step
            if (key == "every") read (value, *) every
            if (key == "output") output_file = value
            if (key == "ghosts") with_ghosts = value == "yes"
        end do
        if (width < 1 .or. width > 7900) error stop "size must be from 1 to 7900"
    end subroutine read_arguments

    subroutine say(what, number)
        character(len=*), intent(in) :: what
        integer, intent(in) :: number

        if (rank == 0) print "(2a,i0)", "mesh: ", what, number
        flush (output_unit)
    end subroutine say

end program mesh_diffusion
