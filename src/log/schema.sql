-- Tables of SCR's event log in a MySQL or MariaDB database, version 1.
-- An administrator makes them once. SCR needs the rights SELECT and INSERT:
--
--     CREATE DATABASE scr; CREATE USER 'scr_insert' IDENTIFIED BY '...';
--     GRANT SELECT, INSERT ON scr.* TO 'scr_insert';

CREATE TABLE scrlog_version (
    version INT UNSIGNED NOT NULL PRIMARY KEY
);

INSERT INTO scrlog_version VALUES (1);

CREATE TABLE scrlog (
    id        BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
    writer    CHAR(16) NOT NULL COMMENT 'identifies the process that wrote it',
    number    BIGINT UNSIGNED NOT NULL COMMENT 'of the record, from 0 for each writer',
    time      BIGINT NOT NULL COMMENT 'seconds since 1970',
    kind      ENUM('event', 'transfer') NOT NULL,
    type      VARCHAR(64) NOT NULL COMMENT 'START, FLUSH_SYNC, ...',
    user      VARCHAR(255) NOT NULL,
    job       VARCHAR(255) NOT NULL COMMENT 'job id',
    prefix    VARCHAR(4096) NOT NULL COMMENT 'prefix directory',
    host      VARCHAR(255) NOT NULL COMMENT 'node that wrote it',
    note      TEXT NULL,
    source    TEXT NULL COMMENT 'from=',
    target    TEXT NULL COMMENT 'to=',
    dataset   BIGINT UNSIGNED NULL COMMENT 'its id',
    name      TEXT NULL COMMENT 'of the dataset',
    seconds   DOUBLE NULL,
    bytes     DOUBLE NULL,
    files     BIGINT UNSIGNED NULL,
    processes BIGINT UNSIGNED NULL,
    nodes     BIGINT UNSIGNED NULL,
    jobname   TEXT NULL,
    start     BIGINT NULL COMMENT 'of the job, seconds since 1970',
    rate      DOUBLE GENERATED ALWAYS AS (bytes / NULLIF(seconds, 0)) VIRTUAL COMMENT 'bytes a second',
    UNIQUE KEY once (writer, number),
    KEY of_job (job, time),
    KEY of_prefix (prefix(191), id)
) ENGINE = InnoDB, DEFAULT CHARACTER SET = utf8mb4, COLLATE = utf8mb4_bin;
