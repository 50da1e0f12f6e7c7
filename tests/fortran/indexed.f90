!> Checkpoints of fields by index: elements that have a number in a whole, and lists of numbers that are wrong. Usage:
!> indexed write on two ranks or more, then indexed read on as many ranks or on others; indexed bags on any ranks, first to
!> write bags, and then to read them.
program indexed
    use, intrinsic :: iso_fortran_env, only: int32, int64, output_unit, real32, real64
    use mpi
    use scrf
    implicit none
    save

    !> Elements of the wholes, and values of each node.
    integer(int32), parameter :: NODES = 53
    integer(int64), parameter :: EDGES = 31
    integer, parameter :: LEVELS = 3
    real(real64), parameter :: UNSET = -1

    integer :: rank, ranks, n, m, case, ierror
    logical :: writes, found
    character(len=8) :: what
    !> The numbers of nodes are the second of each pair. Edges are counted from 0.
    integer(int32), allocatable :: pair(:, :)
    integer(int64), allocatable :: edge(:)
    integer(int32) :: step
    real(real32), allocatable :: narrow(:)
    real(real64), allocatable :: t(:), profile(:, :), tensor(:, :, :), wide(:), new(:)
    character(len=5), allocatable :: label(:)
    logical, allocatable :: fixed(:)
    complex(real64), allocatable :: flux(:)
    integer(int64), allocatable :: seven(:, :, :, :, :, :, :)
    real(real64) :: some(3), one, halo(2)
    !> The elements of bags, and how many ranks wrote them.
    integer, allocatable :: cell(:)
    real(real64), allocatable :: height(:)
    integer :: writers = 0, asked = 0

    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    call get_command_argument(1, what)
    writes = what == "write"
    call scr_init()
    if (what == "bags") then
        call bags_back()
    else if (writes) then
        call write_all()
    else
        call read_all()
    end if
    call scr_finalize()
    call MPI_Finalize(ierror)

contains

    subroutine state(s)
        class(scr_state), intent(inout) :: s
        integer(int64), allocatable :: extents(:), whole(:), at(:)

        call s%same("step", step)
        call s%index("nodes", pair(2, :), NODES)
        call s%field("t", t, index="nodes")
        call s%field("profile", profile(1:LEVELS, 1:2*n:2), index="nodes")
        call s%field("tensor", tensor(:, 2:1:-1, n:1:-1), index="nodes")
        call s%field("label", label, index="nodes")
        call s%field("fixed", fixed, index="nodes")
        call s%begin_list("mesh")
        call s%index("edges", edge, EDGES, first=0_int64)
        call s%field("flux", flux, index="edges")
        call s%field("seven", seven, index="nodes")
        call s%end_list()
        if (writes) then
            call s%field("narrow", narrow, index="nodes")
            return
        end if
        ! A program that has changed.
        call s%field("narrow", wide, kind="convert", index="nodes")
        call s%index("cells", [rank + 1], ranks)
        call s%field("new", new, missing="keep", index="cells")
        call s%stored("profile", extents, whole, at)
        call check(all(at == [1, 0]), "a field by index has no one place")
        call check(all(whole == [LEVELS, NODES]), "the whole is told")
        call s%stored("nodes", extents, whole)
        call check(all(whole == NODES), "the elements that the list counts are told")
        call s%stored("cells", extents)
        call check(.not. allocated(extents), "there is no such list")
    end subroutine state

    !> Lists with what is wrong in a case, on one rank or on all.
    subroutine wrong(s)
        class(scr_state), intent(inout) :: s
        logical :: here

        here = rank == ranks - 1
        call s%same("step", step)
        select case (case)
        case (1)
            if (here) call s%index("outside", [ranks, ranks + 1], ranks)
            if (.not. here) call s%index("outside", [rank + 1], ranks)
        case (2)
            call s%index("both", [1, 2, 3], 3)
        case (3)
            call s%index("hole", pair(2, :), NODES + 1)
        case (4)
            call s%index("ones", [rank + 1], ranks)
            call s%field("longer", some, index="ones")
        case (5)
            call s%field("lost", some, index="nowhere")
        case (6)
            call s%index("ones", [rank + 1], ranks)
            call s%field("scalar", one, index="ones")
        case (7)
            call s%index("three", 3*rank + [1, 2, 3], 3*ranks)
            call s%field("two ways", some, whole=[3*ranks], at=[3*rank + 1], index="three")
        case (8)
            call s%index("negative", edge, -1)
        case (9)
            call s%index("twice", int([rank, rank], int64), int(ranks, int64), first=0_int64)
        case (10)
            call s%index("from zero", [ranks], ranks, 0)
        case (11)
            call s%field("some", some)
            call s%index("some", [rank + 1], ranks)
        case (12)
            call s%from_rank(0)
            call s%index("old", [rank + 1], ranks)
        case (13)
            if (here) call s%index("one rank's", [1, 2, 3], 3)
        case (14)
            call s%index("option", [rank + 1], ranks, copies="same")
        case (15)
            halo = neighbours()
            if (here) halo(2) = 0
            call list_halo(s)
        end select
    end subroutine wrong

    !> The elements of this rank, and those of the next one.
    subroutine list_halo(s)
        class(scr_state), intent(inout) :: s

        call s%index("halo", neighbours(), ranks, copies="equal")
        call s%field("heat", halo, index="halo")
    end subroutine list_halo

    function neighbours()
        integer :: neighbours(2)

        neighbours = [rank + 1, mod(rank + 1, ranks) + 1]
    end function neighbours

    !> Lists that do not fit the checkpoint.
    subroutine unfit(s)
        class(scr_state), intent(inout) :: s

        call s%same("step", step)
        select case (case)
        case (1)
            call s%index("nodes", pair(2, :), NODES + 1)
        case (2)
            call s%index("others", pair(2, :), NODES)
            call s%field("t", t, index="others")
        case (3)
            call s%field("t", t)
        case (4)
            call s%index("nodes", pair(2, :), NODES)
            call s%from_rank(0)
            call s%field("t", t, index="nodes")
        case (5)
            if (rank == 0) call s%index("nodes", [NODES, NODES + 1_int32], NODES)
            if (rank /= 0) call s%index("nodes", pair(2, :), NODES)
            call s%field("t", t, index="nodes")
        end select
    end subroutine unfit

    !> A list of numbers that depends on what is read.
    subroutine unsteady(s)
        class(scr_state), intent(inout) :: s

        if (s%pass() == SCR_PASS_READ) pair = pair(:, n:1:-1)
        call state(s)
    end subroutine unsteady

    subroutine write_all()
        call scr_restore(state, found)
        call check(.not. found, "there is no checkpoint")
        call divide(.false.)
        call set()
        call scr_checkpoint(state, name="t7", output=.true., ierror=ierror)
        call check(ierror == 0, "a list of numbers that make up the whole")
        do case = 1, 15
            print "(a,i0)", "case ", case
            flush (output_unit)
            call scr_checkpoint(wrong, "bad", ierror=ierror)
            call check(ierror == 1, "a list that is wrong")
        end do
        halo = neighbours()
        call scr_checkpoint(list_halo, name="halo", output=.true., ierror=ierror)
        call check(ierror == 0, "copies that are equal")
        halo = 0
        call scr_restore(list_halo, found)
        call check(found .and. all(nint(halo) == neighbours()), "elements that several ranks have written")
        call scr_delete("halo")
        call wipe()
        do case = 1, 3
            call scr_restore(unfit, found, ierror)
            call check(ierror == 1 .and. .not. found, "a list that does not fit")
            call check(all(t == UNSET) .and. step == 0, "nothing changes")
        end do
        call scr_restore(state, found)
        call check(found, "the same lists")
        call compare()
        call scr_restore(unsteady, found, ierror)
        call check(ierror == 1 .and. .not. found, "another list in the second call")
    end subroutine write_all

    subroutine read_all()
        call divide(.true.)
        call wipe()
        call scr_restore(state, found)
        call check(found, "there is a checkpoint")
        call compare()
        call check(all(wide == t/4), "a field of another kind")
        call check(all(new == UNSET), "a field by a list that is new")
        t = UNSET
        do case = 4, 5
            call scr_current("t7")
            call scr_restore(unfit, found, ierror)
            call check(ierror == 1 .and. .not. found, "an old rank, or an index that is not in the whole")
            call check(all(t == UNSET), "nothing changes")
        end do
    end subroutine read_all

    !> Makes the lists. A rank of three or more has no edge, or when the state is read, nothing at all.
    subroutine divide(to_read)
        logical, intent(in) :: to_read
        integer(int32) :: k, node
        integer :: last

        last = ranks - 1
        allocate (pair(2, 0), edge(0))
        do k = 0, NODES - 1
            ! In another order than the numbers.
            node = mod(19*k + merge(11, 0, to_read), NODES) + 1
            if (owner(node, merge(last, ranks, to_read)) /= rank) cycle
            pair = reshape([pair, -1_int32, node], [2, size(pair, 2) + 1])
            ! One beside it, which another rank has, too, or the same one.
            if (to_read) pair = reshape([pair, -1_int32, mod(node, NODES) + 1_int32], [2, size(pair, 2) + 1])
        end do
        do k = int(EDGES, int32) - 1, 0, -1
            if (owner(k, last) == rank) edge = [edge, int(k, int64)]
        end do
        n = size(pair, 2)
        m = size(edge)
        allocate (t(n), profile(0:LEVELS + 1, 2*n), tensor(2, 2, n), label(n), fixed(n), narrow(n), wide(n))
        allocate (flux(m), seven(1, 2, 1, 1, 2, 1, n), new(1))
        new = UNSET
    end subroutine divide

    pure function owner(number, among)
        integer(int32), intent(in) :: number
        integer, intent(in) :: among
        integer :: owner

        owner = mod(number*number/3, max(1, among))
    end function owner

    subroutine set()
        integer :: i

        call wipe()
        step = 7
        do i = 1, n
            associate (node => pair(2, i))
                t(i) = node
                profile(1:LEVELS, 2*i - 1) = node + [0.25_real64, 0.5_real64, 0.75_real64]
                tensor(:, :, n + 1 - i) = reshape(10*node + [1, 2, 3, 4], [2, 2])
                write (label(i), "(a,i0)") "n", node
                fixed(i) = mod(node, 3) == 0
                narrow(i) = real(node, real32)/4
                seven(1, :, 1, 1, :, 1, i) = reshape(100*node + [1, 2, 3, 4], [2, 2])
            end associate
        end do
        flux = cmplx(edge, 2*edge, real64)
    end subroutine set

    subroutine wipe()
        step = 0
        t = UNSET
        profile = UNSET
        tensor = UNSET
        label = "?"
        fixed = .false.
        narrow = real(UNSET, real32)
        wide = UNSET
        flux = UNSET
        seven = int(UNSET, int64)
    end subroutine wipe

    !> What was read is what set makes of the numbers that this rank has.
    subroutine compare()
        real(real64), allocatable :: t_read(:), profile_read(:, :), tensor_read(:, :, :)
        character(len=5), allocatable :: label_read(:)
        logical, allocatable :: fixed_read(:)
        complex(real64), allocatable :: flux_read(:)
        integer(int64), allocatable :: seven_read(:, :, :, :, :, :, :)
        real(real64), allocatable :: wide_read(:)

        call check(step == 7, "a scalar that is the same on all")
        t_read = t
        profile_read = profile
        tensor_read = tensor
        label_read = label
        fixed_read = fixed
        flux_read = flux
        seven_read = seven
        wide_read = wide
        call set()
        wide = wide_read
        call check(all(t_read == t), "one value for each index")
        call check(all(profile_read == profile), "a section with gaps, which stay as they are")
        call check(all(tensor_read == tensor), "a section that goes backwards")
        call check(all(label_read == label) .and. all(fixed_read .eqv. fixed), "texts and logicals")
        call check(all(flux_read == flux), "numbers of 8 bytes, from 0 on")
        call check(all(seven_read == seven), "seven dimensions, and a list outside of the one it is in")
    end subroutine compare

    !> Reads two bags, or writes them if there is no checkpoint. Another number of ranks shares them by a key.
    subroutine bags_back()
        integer :: id, writer, i, all
        integer, allocatable :: right(:)

        allocate (cell(0), height(0))
        call scr_restore(bags, found)
        if (.not. found) then
            cell = [(7*id, id=rank, 39, ranks)]
            height = [(mod(17*id, 40)/2.0_real64, id=rank, 39, ranks)]
            call scr_checkpoint(bags, name="bags", output=.true.)
            return
        end if
        if (writers == ranks) then
            call check(all_equal(cell, [(7*id, id=rank, 39, ranks)]), "the elements of this rank")
            return
        end if
        allocate (right(0))
        do writer = 0, writers - 1
            do id = writer, 39, writers
                if (mod(7*id, ranks) == rank) right = [right, 7*id]
            end do
        end do
        call check(all_equal(cell, right), "the elements that the owner gives")
        call check(all_equal(nint(2*height), [(i, i=40*rank/ranks, 40*(rank + 1)/ranks - 1)]), "a sorted share")
        do case = 1, 2
            call scr_restore(bags, found, ierror)
            call check(ierror == 1 .and. all_equal(cell, right), "owners that are wrong")
            call scr_current("bags")
        end do
        call MPI_Allreduce(asked, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
        call check(all >= 40, "owners are asked for")
    end subroutine bags_back

    subroutine bags(s)
        class(scr_state), intent(inout) :: s
        integer :: owned
        integer(int64) :: sorted
        integer, allocatable :: new_cell(:)
        real(real64), allocatable :: new_height(:)

        if (s%stored_ranks() > 0) writers = s%stored_ranks()
        owned = size(cell)
        sorted = size(height)
        if (case == 2) then
            call s%bag("owned", owned, owner=owner_of)
        else
            call s%bag("owned", owned, "cell", owner_of)
        end if
        call s%bag("sorted", sorted, key="height")
        if (s%pass() == SCR_PASS_WRITE) then
            call s%field("cell", cell, index="owned")
            call s%field("height", height, index="sorted")
        else
            allocate (new_cell(owned), new_height(sorted))
            call s%field("cell", new_cell, index="owned")
            call s%field("height", new_height, index="sorted")
            if (s%pass() == SCR_PASS_READ) then
                cell = new_cell
                height = new_height
            end if
        end if
    end subroutine bags

    subroutine owner_of(keys, to)
        integer(int64), intent(in) :: keys(:)
        integer(int32), intent(inout) :: to(:)

        to = int(mod(keys, int(ranks, int64)), int32)
        if (case == 1 .and. size(to) > 0) to(1) = ranks
        asked = asked + size(keys)
    end subroutine owner_of

    function all_equal(found, right)
        integer, intent(in) :: found(:), right(:)
        logical :: all_equal

        all_equal = size(found) == size(right)
        if (all_equal) all_equal = all(found == right)
    end function all_equal

    subroutine check(holds, claim)
        logical, intent(in) :: holds
        character(len=*), intent(in) :: claim

        if (holds) return
        print "(a,i0,2a)", "rank ", rank, ": not so: ", claim
        flush (output_unit)
        call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    end subroutine check

end program indexed
