C     A program in fixed form and FORTRAN 77 that survives a lost node:
C     the one of docs/fortran-guide.md, with the classic subroutines of
C     SCR. Each process adds numbers for a hundred steps, and writes a
C     checkpoint after each tenth. Start it again after a failure, and
C     it goes on from the newest checkpoint.
C
C     Beyond the standard it has only longer names, lower case in
C     strings, IMPLICIT NONE and INCLUDE, as MPI and SCR need them.
      PROGRAM SUMS
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'scrf.h'
      INTEGER LAST, EVERY, N
      PARAMETER (LAST = 100, EVERY = 10, N = 1000)
      REAL STATE(N)
      INTEGER ME, STEP, ISTOP, IERR, I

      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERR)
      CALL SCR_INIT(IERR)
      IF (IERR .NE. SCR_SUCCESS) THEN
          CALL MPI_ABORT(MPI_COMM_WORLD, 1, IERR)
      END IF

      CALL RESTRT(ME, STEP, STATE, N)
      IF (ME .EQ. 0) PRINT '(A,I3)', ' going on after step', STEP

      ISTOP = 0
   10 IF (STEP .LT. LAST .AND. ISTOP .EQ. 0) THEN
          STEP = STEP + 1
          DO 20 I = 1, N
              STATE(I) = STATE(I) + 1.0/STEP
   20     CONTINUE
          IF (MOD(STEP, EVERY) .EQ. 0) THEN
              CALL CKPT(ME, STEP, STATE, N)
              CALL SCR_SHOULD_EXIT(ISTOP, IERR)
          END IF
          GO TO 10
      END IF

      IF (ME .EQ. 0) PRINT '(A,I3)', ' done until step', STEP
      CALL SCR_FINALIZE(IERR)
      CALL MPI_FINALIZE(IERR)
      END

C     Reads the newest checkpoint that all processes can read. If there
C     is none, sets the state with which the program begins.
      SUBROUTINE RESTRT(ME, STEP, STATE, N)
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'scrf.h'
      INTEGER ME, STEP, N
      REAL STATE(N)
      CHARACTER*(SCR_MAX_FILENAME) NAME, FILE, PATH
      INTEGER IHAVE, IVALID, IOS, IERR, I

   10 STEP = 0
      DO 20 I = 1, N
          STATE(I) = ME
   20 CONTINUE
      CALL SCR_HAVE_RESTART(IHAVE, NAME, IERR)
      IF (IERR .NE. SCR_SUCCESS) THEN
C         There may be a checkpoint, which must not be overwritten.
          CALL MPI_ABORT(MPI_COMM_WORLD, 1, IERR)
      END IF
      IF (IHAVE .EQ. 0) RETURN

      CALL SCR_START_RESTART(NAME, IERR)
      IVALID = 0
      CALL FILEIN(NAME, ME, FILE)
      CALL SCR_ROUTE_FILE(FILE, PATH, IERR)
      IF (IERR .EQ. SCR_SUCCESS) THEN
          OPEN (20, FILE=PATH, FORM='UNFORMATTED', STATUS='OLD',
     &          IOSTAT=IOS)
          IF (IOS .EQ. 0) THEN
              READ (20, IOSTAT=IOS) STEP, STATE
              IF (IOS .EQ. 0) IVALID = 1
              CLOSE (20)
          END IF
      END IF
C     Success only if all processes could read their files. Otherwise
C     the next older checkpoint is tried.
      CALL SCR_COMPLETE_RESTART(IVALID, IERR)
      IF (IERR .NE. SCR_SUCCESS) GO TO 10
      END

C     Writes a checkpoint. If that fails the program goes on, and the
C     checkpoints before it stay.
      SUBROUTINE CKPT(ME, STEP, STATE, N)
      IMPLICIT NONE
      INCLUDE 'scrf.h'
      INTEGER ME, STEP, N
      REAL STATE(N)
      CHARACTER*(SCR_MAX_FILENAME) NAME, FILE, PATH
      INTEGER IVALID, IOS, IERR

      WRITE (NAME, '(A,I6.6)') 'ck.', STEP
      CALL SCR_START_OUTPUT(NAME, SCR_FLAG_CHECKPOINT, IERR)
      IF (IERR .NE. SCR_SUCCESS) RETURN
      IVALID = 0
      CALL FILEIN(NAME, ME, FILE)
      CALL SCR_ROUTE_FILE(FILE, PATH, IERR)
      IF (IERR .EQ. SCR_SUCCESS) THEN
          OPEN (20, FILE=PATH, FORM='UNFORMATTED', STATUS='UNKNOWN',
     &          IOSTAT=IOS)
          IF (IOS .EQ. 0) THEN
              WRITE (20, IOSTAT=IOS) STEP, STATE
              IF (IOS .EQ. 0) IVALID = 1
              CLOSE (20, IOSTAT=IOS)
              IF (IOS .NE. 0) IVALID = 0
          END IF
      END IF
      CALL SCR_COMPLETE_OUTPUT(IVALID, IERR)
      END

C     The file of this process in a checkpoint.
      SUBROUTINE FILEIN(NAME, ME, FILE)
      IMPLICIT NONE
      CHARACTER*(*) NAME, FILE
      INTEGER ME, L

      L = LEN(NAME)
   10 IF (L .GT. 1 .AND. NAME(L:L) .EQ. ' ') THEN
          L = L - 1
          GO TO 10
      END IF
      WRITE (FILE, '(A,A,I6.6)') NAME(1:L), '/rank.', ME
      END
