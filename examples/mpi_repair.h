/* Makes a communicator whole again after processes have failed: of the survivors, or with new processes in the places of the
 * lost ones. It has nothing of SCR. It needs an MPI with User Level Failure Mitigation, such as Open MPI 5. A part of the
 * examples that are repaired, to be copied into other programs.
 *
 * In main, after MPI_Init:
 *   repair_first(&comm, argv)   the communicator of the first processes, or of a new one with the others
 * and after an error of MPI on `comm`, on all its processes that are left:
 *   repair_whole(&comm, spawn)  the communicator without those that have failed, or with others for them
 */

#ifndef MPI_REPAIR_H
#define MPI_REPAIR_H

#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>

static const char* repair_command; /* what is started in the places of lost processes, and with which arguments */
static char** repair_arguments;

static int* repair_numbers(int count)
{
    int* numbers = malloc(((size_t)count + 1) * sizeof *numbers);
    if (numbers == NULL) {
        fprintf(stderr, "out of memory for the numbers of processes\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return numbers;
}

/* The survivors of a communicator. Collective over them. */
static MPI_Comm repair_survivors(MPI_Comm broken)
{
    MPI_Comm survivors;
    int done = 1;
    while (MPIX_Comm_shrink(broken, &survivors) != MPI_SUCCESS) {}
    MPI_Comm_set_errhandler(survivors, MPI_ERRORS_RETURN);
    /* Open MPI 5.0 crashes if it is revoked before all have it. */
    MPIX_Comm_agree(broken, &done);
    return survivors;
}

/* The ranks of `whole` that are not in `part`, which the caller frees, and how many there are. */
static int* repair_missing(MPI_Comm whole, MPI_Comm part, int* count)
{
    MPI_Group all, left, lost;
    MPI_Comm_group(whole, &all);
    MPI_Comm_group(part, &left);
    MPI_Group_difference(all, left, &lost);
    MPI_Group_size(lost, count);
    int* here = repair_numbers(*count);
    int* there = repair_numbers(*count);
    for (int i = 0; i < *count; i++) here[i] = i;
    MPI_Group_translate_ranks(lost, *count, here, all, there);
    MPI_Group_free(&all);
    MPI_Group_free(&left);
    MPI_Group_free(&lost);
    free(here);
    return there;
}

/* With new processes on the other side of `between`: all of them, each with the rank that it gets. MPI_COMM_NULL if a
 * process has failed meanwhile. Collective over both sides; `number` is the rank that this process will have. */
static MPI_Comm repair_merged(MPI_Comm between, int is_new, int number)
{
    MPI_Comm together, ordered = MPI_COMM_NULL;
    int good = MPI_Intercomm_merge(between, is_new, &together) == MPI_SUCCESS;
    if (!good) return MPI_COMM_NULL;
    MPI_Comm_set_errhandler(together, MPI_ERRORS_RETURN);
    good = MPI_Comm_split(together, 0, number, &ordered) == MPI_SUCCESS;
    if (MPIX_Comm_agree(together, &good) != MPI_SUCCESS) good = 0;
    if (!good) ordered = MPI_COMM_NULL;
    else MPI_Comm_set_errhandler(ordered, MPI_ERRORS_RETURN);
    MPI_Comm_free(&together);
    return ordered;
}

/* A new process: the communicator with those that were there before. */
static MPI_Comm repair_join(MPI_Comm parents)
{
    int number = 0;
    MPI_Comm_set_errhandler(parents, MPI_ERRORS_RETURN);
    if (MPI_Recv(&number, 1, MPI_INT, 0, 0, parents, MPI_STATUS_IGNORE) != MPI_SUCCESS) exit(3);
    MPI_Comm whole = repair_merged(parents, 1, number);
    /* The survivors start others in our place. */
    if (whole == MPI_COMM_NULL) exit(3);
    return whole;
}

/* Starts processes in the places of those that are not among the survivors of `broken`. */
static MPI_Comm repair_refilled(MPI_Comm broken, MPI_Comm survivors)
{
    MPI_Comm between = MPI_COMM_NULL, whole = MPI_COMM_NULL;
    int lost, me, number;
    int* places = repair_missing(broken, survivors, &lost);
    MPI_Comm_rank(survivors, &me);
    MPI_Comm_rank(broken, &number);
    int* codes = repair_numbers(lost);
    int good = MPI_Comm_spawn(repair_command, repair_arguments, lost, MPI_INFO_NULL, 0, survivors, &between, codes)
        == MPI_SUCCESS;
    if (MPIX_Comm_agree(survivors, &good) == MPI_SUCCESS && good) {
        MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
        for (int i = 0; me == 0 && i < lost; i++) MPI_Send(&places[i], 1, MPI_INT, i, 0, between);
        whole = repair_merged(between, 0, number);
    }
    free(codes);
    free(places);
    return whole;
}

/* See above. The arguments are those with which new processes start; `argv` ends with NULL. True for a process that was
 * started in the place of a lost one. */
static int repair_first(MPI_Comm* comm, char** argv)
{
    MPI_Comm parents;
    MPI_Comm_get_parent(&parents);
    repair_command = argv[0];
    repair_arguments = argv + 1;
    int is_new = parents != MPI_COMM_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    *comm = is_new ? repair_join(parents) : MPI_COMM_WORLD;
    return is_new;
}

/* See above. With `spawn` as many processes as before. How many have failed: with 0, the error was another one. */
static int repair_whole(MPI_Comm* comm, int spawn)
{
    MPI_Comm whole = MPI_COMM_NULL;
    int lost = 0;
    MPIX_Comm_revoke(*comm);
    while (whole == MPI_COMM_NULL) {
        MPI_Comm survivors = repair_survivors(*comm);
        int now, before;
        MPI_Comm_size(survivors, &now);
        MPI_Comm_size(*comm, &before);
        lost = before - now;
        whole = spawn && lost > 0 ? repair_refilled(*comm, survivors) : survivors;
        if (whole != survivors) MPI_Comm_free(&survivors);
    }
    if (*comm != MPI_COMM_WORLD) MPI_Comm_free(comm);
    *comm = whole;
    return lost;
}

#endif
