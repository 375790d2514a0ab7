/* src/sql/upgrade/ddir--1.0--1.1.sql: what 1.1 has and 1.0 has not; see src/README.md */

-- complain if the script is sourced in psql rather than by ALTER EXTENSION
\echo Use "ALTER EXTENSION ddir UPDATE TO '1.1'" to load this file. \quit
