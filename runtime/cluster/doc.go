// Package cluster is what connects the ranks of a program that runs on several processes, perhaps on several machines:
// it moves bytes between them. It never adds a float: MPI's own reductions have an order that follows message sizes and
// the number of ranks, so what is summed is gathered, and every rank folds it in the order of the language.
//
// There are three ways to be a rank: Alone, which costs nothing; in a mesh over TCP or sockets of one machine, with
// nothing installed, or of the goroutines of one process (package mesh); and by an MPI library that is opened at run
// time (package mpi).
package cluster

import "fmt"

// Nobody is a rank that sends nothing and receives nothing, as that beside the first and the last.
const Nobody = -1

// Comm is a communicator. Its calls are collective: every rank makes the same ones in the same order, and one at a
// time. After an error a communicator has ended, and what a call was to fill is undefined. Counts are bytes.
type Comm interface {
	// Rank is this process' number, from 0, and Size is how many there are.
	Rank() int
	Size() int

	// AllGather gives every rank the parts of all. Part r is counts[r] bytes, after those of the ranks before; the
	// part of this rank is there already.
	AllGather(all []byte, counts []int) error

	// AllToAll sends a part of send to each rank, to[r] bytes to rank r, in order, and receives from[r] bytes of each.
	// What a rank sends is as long as the other expects: ranks that expect nothing of each other need not meet.
	AllToAll(send []byte, to []int, recv []byte, from []int) error

	// SendRecv sends to one rank and receives from another, or the same; either may be Nobody. It needs both for a
	// ring, where everybody sends first.
	SendRecv(send []byte, to int, recv []byte, from int) error

	// Begin is the first half of an exchange: out[r] goes to rank r, and in[r] is filled from rank r. nil is no
	// message, neither of the one who sends nor of the one who receives; that of a rank to itself is none. Data may
	// move while the rank computes. Finish is the other half, after which in is there. Until then the memory is not
	// touched, and there is no other call but Meet, of a rank that has failed, which drops what was begun.
	Begin(out, in [][]byte) error
	Finish() error

	// Barrier returns when every rank has come.
	Barrier() error

	// Meet gives every rank the words of all, as many of each, in order; those of this rank are there already. It is
	// apart from the other calls, so that a rank that has failed can come while others exchange data: these then get a
	// *MeetingError, after which the communicator goes on with Meet, or are ended by Abort.
	Meet(words []uint64) error

	// Abort ends the run on all ranks, whose exit code is to be this one. It may be called at any time, from any
	// goroutine. Calls of the other ranks fail with an *AbortError; MPI ends all processes, this one as well.
	Abort(code int, why string)

	// Close ends a rank whose work is done. Every rank has to come, so that none ends while others wait for it.
	Close() error
}

// FailedCode is the exit code of a run that ends because its ranks cannot go on together: that of healc for whatever
// fails while a program runs.
const FailedCode = 3

// AbortError says that a rank has ended the run.
type AbortError struct {
	Rank, Code int
	Why        string
}

func (e *AbortError) Error() string {
	return fmt.Sprintf("rank %d has ended the run: %s", e.Rank, e.Why)
}

// LostError says that the connection to a rank has ended: it was killed, or its machine or the network failed.
type LostError struct {
	Rank int
	Err  error
}

func (e *LostError) Error() string { return fmt.Sprintf("rank %d is lost: %v", e.Rank, e.Err) }
func (e *LostError) Unwrap() error { return e.Err }

// MeetingError says that a rank has come to a meeting (Meet) while this one expects data from it.
type MeetingError struct{ Rank int }

func (e *MeetingError) Error() string {
	return fmt.Sprintf("rank %d sends no data, which this rank waits for: the ranks do not do the same", e.Rank)
}

// LengthError says that two ranks are not at the same call.
type LengthError struct {
	From       int
	Sent, Want int64
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("rank %d has sent %d bytes, and this rank expects %d: the ranks do not do the same", e.From,
		e.Sent, e.Want)
}
