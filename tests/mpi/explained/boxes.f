! Usage: boxes complete|OMISSION
! Boxes of an ocean for tests/mpi/explained.sh, in the style of FORTRAN 77: COMMON blocks with names and without one, EQUIVALENCE,
! SAVE and DATA. Its list lacks the part of the state that is named, or nothing. The result is in the file `result`.
      program boxes
      use mpi
      use scrf
      implicit none
      integer nbox, nhist
      parameter (nbox = 12, nhist = 5)
      integer istep, irank, ierr
      common /clock/ istep, irank
      real(8) temp(nbox), salt(nbox), pco2, dust
      common /ocean/ temp, salt, pco2
      common dust(nbox)
      real(8) hist(nhist)
      integer ihead
      common /delay/ hist, ihead
      character(len=8) regime
      common /mode/ regime
      real(8) ice(4), north, south
      equivalence (ice(1), north), (ice(4), south)
      common /cryos/ ice
      character(len=16) omits
      logical found
      real(8) own, total
      integer i

      call get_command_argument(1, omits)
      call MPI_Init(ierr)
      call MPI_Comm_rank(MPI_COMM_WORLD, irank, ierr)
      do 10 i = 1, nbox
         temp(i) = 10 + i + irank
         salt(i) = 35
         dust(i) = 0.1d0*i
 10   continue
      pco2 = 2.8d0
      regime = 'warm'
      ihead = 1
      do 20 i = 1, nhist
         hist(i) = 0
 20   continue
      north = 1
      ice(2) = 0.5d0
      ice(3) = 0.5d0
      south = 2
      istep = 0
      call scr_init()
      call scr_restore(state, found)
 30   if (istep .lt. 24) then
         istep = istep + 1
         call heat
         call air
         call sleepy
         if (mod(istep, 4) .eq. 0)
     &      call scr_checkpoint(state, 'ck.'//achar(64 + istep/4))
         goto 30
      end if
      own = pco2
      do 40 i = 1, nbox
         own = own + temp(i) + salt(i)
 40   continue
      call MPI_Reduce(own, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0,
     &   MPI_COMM_WORLD, ierr)
      if (irank .eq. 0) then
         open (10, file = 'result')
         write (10, *) total
         close (10)
      end if
      call scr_finalize()
      call MPI_Finalize(ierr)

      contains

      logical function has(name)
      character(len=*), intent(in) :: name
      has = omits .ne. name
      end function

      subroutine state(s)
      class(scr_state), intent(inout) :: s
      real(8) last
      integer icall, iseed
      logical frozen, reads
      reads = s%pass() .eq. SCR_PASS_READ
      call s%same('step', istep)
      call s%field('temp', temp)
      if (has('salt')) call s%field('salt', salt)
      if (has('pco2')) call s%field('pco2', pco2)
      if (has('dust')) call s%field('dust', dust)
      if (has('hist')) call s%field('hist', hist)
      if (has('ihead')) call s%field('ihead', ihead)
      if (has('regime')) call s%field('regime', regime)
      if (has('ice')) call s%field('ice', ice)
!     What RAIN keeps for itself is copied out of it, and back.
      call rainio(.false., last, icall, frozen, iseed)
      if (has('last')) call s%field('last', last)
      if (has('icall')) call s%field('icall', icall)
      if (has('frozen')) call s%field('frozen', frozen)
      if (has('iseed')) call s%field('iseed', iseed)
      if (reads) call rainio(.true., last, icall, frozen, iseed)
      end subroutine

      end program

      subroutine heat
      implicit none
      integer nbox, nhist
      parameter (nbox = 12, nhist = 5)
      integer istep, irank, ihead, i
      real(8) temp, salt, pco2, dust, hist, ice, r
      character(len=8) regime
      common /clock/ istep, irank
      common /ocean/ temp(nbox), salt(nbox), pco2
      common dust(nbox)
      common /delay/ hist(nhist), ihead
      common /mode/ regime
      common /cryos/ ice(4)
      call rain(r)
      do 10 i = 1, nbox
         temp(i) = temp(i) + 0.01d0*(pco2 - 0.1d0*temp(i))
     &      + 0.02d0*hist(ihead) - 0.001d0*dust(i)
         salt(i) = 0.99d0*salt(i) - 0.01d0*r
         temp(i) = temp(i) + 0.001d0*salt(i)
         dust(i) = 0.9d0*dust(i) + 0.01d0*r
 10   continue
!     What was warm comes back after five steps.
      hist(ihead) = temp(1) - 10
      ihead = mod(ihead, nhist) + 1
      if (istep .eq. 2) regime = 'cold'
      if (regime .eq. 'cold') temp(2) = temp(2) - 0.05d0
      ice(1) = ice(1)*0.99d0
      ice(4) = ice(4) + 0.01d0*ice(1)
      temp(3) = temp(3) - 0.01d0*ice(4)
      end subroutine

      subroutine air
      implicit none
      integer nbox
      parameter (nbox = 12)
      real(8) temp, salt, pco2, growth
      common /ocean/ temp(nbox), salt(nbox), pco2
      growth = 0.01d0*pco2
      pco2 = pco2 + growth - 0.001d0*temp(4)
      end subroutine

!     Rain: a random number, that of the call before, and a season.
      subroutine rain(r)
      implicit none
      real(8), intent(out) :: r
      real(8), intent(inout) :: dlast
      logical, intent(in) :: back
      integer, intent(inout) :: ncall, nseed
      logical, intent(inout) :: dfroz
      real(8) last
      integer icall, iseed
      logical frozen
      save last, icall, iseed, frozen
      data last /0d0/, icall /0/, iseed /77/, frozen /.false./
      icall = icall + 1
      iseed = mod(iseed*16807, 65521)
      if (mod(icall, 7) .eq. 0) iseed = iseed + 1
      r = 0.5d0*last + iseed/65521d0
      if (icall .eq. 2) frozen = .true.
      if (frozen) r = 0.5d0*r
      if (mod(icall, 3) .eq. 0) r = r + 1
      last = r
      return

      entry rainio(back, dlast, ncall, dfroz, nseed)
      if (back) then
         last = dlast
         icall = ncall
         frozen = dfroz
         iseed = nseed
      else
         dlast = last
         ncall = icall
         dfroz = frozen
         nseed = iseed
      end if
      end subroutine

      subroutine sleepy
      use mpi
      implicit none
      integer ierr
      real(8) begun
      begun = MPI_Wtime()
 10   if (MPI_Wtime() - begun .lt. 0.02d0) goto 10
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
      end subroutine
