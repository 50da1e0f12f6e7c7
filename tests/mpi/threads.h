/* What a session of tests/mpi/threads.c must restore: a model of its datasets, kept in a file beyond SCR's reach.
   SPDX-License-Identifier: MIT OR Apache-2.0 */

#ifndef THREADS_H
#define THREADS_H

#include <fcntl.h>
#include <pthread.h>
#include <scr_session.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSIONS = 4096, LINES = 400, LINE = 120 };

enum life {
    OPEN = 'o',   /* Begun. A kill may have come before or after it was complete. */
    DONE = 'd',   /* All processes have been told that it is complete. */
    FAILED = 'f', /* Not completed: it must not be seen again. */
    GONE = 'g'    /* Was complete, and was deleted or given up: it must not be seen again. */
};

struct version {
    char name[32];
    enum life life;
    int doubt; /* It may be gone: dropped, or its deletion was begun. */
};

enum phase { NONE, CREATED, IDLE, OFFERED, RESTARTING, WRITING, REFUSED };

/* A session, and all that the threads which drive it know. `shared` is the same on all ranks, `own` is not. */
struct member {
    int index, world, fields, keeps_all, halted;
    unsigned shared, own;
    char label[16], record[512];
    MPI_Comm comm;
    SCR_Session session;
    volatile SCR_Session visible; /* For threads of other sessions. */
    enum phase phase;
    int open, offered, last, restored; /* Versions. */
    struct version versions[VERSIONS];
    volatile long steps;
    char trace[LINES][LINE];
    long lines;
};

extern int rank, ranks;

/* Prints the calls of all sessions, and ends the job. */
void give_up(const struct member *member, const char *what, const char *file, int line);

#define REQUIRE(member, what)                                          \
    do {                                                               \
        if (!(what)) give_up((member), #what, __FILE__, __LINE__);     \
    } while (0)

static inline unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static inline void trace(struct member *m, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(m->trace[m->lines % LINES], LINE, format, list);
    va_end(list);
    m->lines++;
}

/* Appends what happens to a version to the record, by rank 0, in one piece. */
static inline void note(struct member *m, char what, int id)
{
    char line[64];
    int length, out;
    if (rank != 0) return;
    length = snprintf(line, sizeof line, "%c %d %s\n", what, id, m->versions[id].name);
    out = open(m->record, O_WRONLY | O_APPEND | O_CREAT, 0666);
    REQUIRE(m, out >= 0 && write(out, line, (size_t) length) == length && close(out) == 0);
}

/* The events of a version; each is noted when it holds even if the next call kills the process. */
static inline void begins(struct member *m, int id, const char *name)
{
    struct version *version = &m->versions[id];
    snprintf(version->name, sizeof version->name, "%s", name);
    version->life = OPEN;
    version->doubt = 0;
    m->last = id;
    note(m, 'b', id);
}

static inline void becomes(struct member *m, int id, enum life life)
{
    m->versions[id].life = life;
    note(m, (char) life, id);
}

static inline void may_be_gone(struct member *m, int id)
{
    m->versions[id].doubt = 1;
    note(m, '?', id);
}

/* What a restart has found: 0 for nothing. It is no older than what must be there, and what is newer is gone. */
static inline void found(struct member *m, int id)
{
    int must = 0, i;
    for (i = m->last; i > 0 && must == 0; i--) {
        const struct version *version = &m->versions[i];
        if (version->life == DONE && !version->doubt) must = i;
        /* A cache that is small has the newest only. What of it is deleted uncovers no older one for sure. */
        if (!m->keeps_all && (version->life == GONE || (version->life == DONE && version->doubt))) break;
    }
    trace(m, "  found %d, must have %d", id, must);
    REQUIRE(m, id >= must && id <= m->last);
    REQUIRE(m, id == 0 || (m->versions[id].life != GONE && m->versions[id].life != FAILED));
    for (i = id + 1; i <= m->last; i++) {
        if (m->versions[i].life == OPEN) becomes(m, i, FAILED);
        if (m->versions[i].life == DONE) becomes(m, i, GONE);
    }
    /* What was complete, or dropped and is still in the cache, is there. */
    if (id > 0 && m->versions[id].life == OPEN) becomes(m, id, DONE);
    m->restored = id;
}

/* Reads what earlier runs have noted. */
static inline void remember(struct member *m)
{
    char what, name[32];
    int id;
    FILE *in = fopen(m->record, "r");
    if (in == NULL) return;
    while (fscanf(in, " %c %d %31s", &what, &id, name) == 3) {
        struct version *version;
        REQUIRE(m, id > 0 && id < VERSIONS);
        version = &m->versions[id];
        snprintf(version->name, sizeof version->name, "%s", name);
        if (id > m->last) m->last = id;
        if (what == 'b') {
            version->life = OPEN;
            version->doubt = 0;
        } else if (what == '?') {
            version->doubt = 1;
        } else {
            version->life = (enum life) what;
        }
    }
    fclose(in);
}

/* The content of version `id`: element `at` of the whole of this session. */
static inline double element(const struct member *m, int id, long at)
{
    return m->index * 1e7 + id * 1e3 + (double) at;
}

#endif
