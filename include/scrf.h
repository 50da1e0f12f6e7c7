! Constants for codes that call the external SCR subroutines. Reads
! the same in fixed and in free form. Not together with "use scrf".
! SPDX-License-Identifier: MIT OR Apache-2.0

      integer SCR_SUCCESS
      parameter (SCR_SUCCESS = 0)

! Characters in a file or dataset name, with the terminating NUL of C.
      integer SCR_MAX_FILENAME
      parameter (SCR_MAX_FILENAME = 1024)

! Flags of scr_start_output, to be added.
      integer SCR_FLAG_NONE
      parameter (SCR_FLAG_NONE = 0)
      integer SCR_FLAG_CHECKPOINT
      parameter (SCR_FLAG_CHECKPOINT = 1)
      integer SCR_FLAG_OUTPUT
      parameter (SCR_FLAG_OUTPUT = 2)
      integer SCR_NOT_READ
      parameter (SCR_NOT_READ = 5456722)
