// Package mpi is a communicator by an MPI library, which is opened at run time: no header and no C compiler is needed,
// and one program does with MPICH and its kin, with Open MPI and with any library of MPI's standard binary interface.
package mpi
