-- Transactions in two phases.
-- tables: none

CREATE TABLE t (id INT PRIMARY KEY);
XA START 'one';
INSERT INTO t VALUES (1);
XA END 'one';
XA PREPARE 'one';
XA COMMIT 'one';
XA START X'00FF', 'branch', 7;
INSERT INTO t VALUES (2);
XA END X'00FF', 'branch', 7;
XA PREPARE X'00FF', 'branch', 7;
XA ROLLBACK X'00FF', 'branch', 7;
XA START 'phase';
INSERT INTO t VALUES (3);
XA END 'phase';
XA COMMIT 'phase' ONE PHASE;
