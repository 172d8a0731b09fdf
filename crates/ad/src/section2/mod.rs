//! Section 2 of the report: the scalar algorithm.
