// Package clustertest says whether a communicator does what cluster.Comm promises.
package clustertest

import (
	"bytes"
	"fmt"
	"sync"

	"healc/runtime/cluster"
)

// OnEach runs f on every rank and returns what each made of it.
func OnEach(comms []cluster.Comm, f func(cluster.Comm) error) []error {
	errs := make([]error, len(comms))
	var all sync.WaitGroup
	for r, c := range comms {
		all.Go(func() { errs[r] = f(c) })
	}
	all.Wait()
	return errs
}

// fill writes bytes that follow from two ranks and where they stand.
func fill(b []byte, from, to int) {
	for i := range b {
		b[i] = byte(i*7 + from*31 + to*101 + i>>8)
	}
}

func made(n, from, to int) []byte {
	b := make([]byte, n)
	fill(b, from, to)
	return b
}

func same(what string, got, want []byte) error {
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s: %d bytes are not those that were sent", what, len(got))
	}
	return nil
}

// Conforms is what one rank does to find out whether its communicator does what Comm says. It ends it.
func Conforms(c cluster.Comm) error {
	me, n := c.Rank(), c.Size()
	for _, size := range []int{0, 1, 8, 4095, 4096, 4097, 1 << 20} {
		if err := gathers(c, size); err != nil {
			return fmt.Errorf("gather of %d: %w", size, err)
		}
		if err := exchanges(c, size); err != nil {
			return fmt.Errorf("exchange of %d: %w", size, err)
		}
		if err := halves(c, size); err != nil {
			return fmt.Errorf("halves of %d: %w", size, err)
		}
		// a ring, where all send first
		got, next, last := make([]byte, size+me), (me+1)%n, (me+n-1)%n
		got = append(got[:0], make([]byte, size+last)...)
		if err := c.SendRecv(made(size+me, me, next), next, got, last); err != nil {
			return fmt.Errorf("ring of %d: %w", size, err)
		}
		if err := same("ring", got, made(size+last, last, me)); err != nil {
			return err
		}
		// a line, with nobody at its ends
		left, right := me-1, me+1
		if right == n {
			right = cluster.Nobody
		}
		got = make([]byte, size)
		if err := c.SendRecv(made(size, me, 1), right, got, left); err != nil {
			return fmt.Errorf("line of %d: %w", size, err)
		}
		want := make([]byte, size)
		if left != cluster.Nobody {
			fill(want, left, 1)
		}
		if err := same("line", got, want); err != nil {
			return err
		}
		if err := c.Barrier(); err != nil {
			return err
		}
	}
	if err := agrees(c); err != nil {
		return err
	}
	for _, size := range []int{8, 1 << 20} {
		if err := failsBetween(c, size); err != nil {
			return fmt.Errorf("a failure between the halves of an exchange of %d: %w", size, err)
		}
	}
	return c.Close()
}

// gathers with parts of different lengths, some of them empty.
func gathers(c cluster.Comm, size int) error {
	counts := make([]int, c.Size())
	var want []byte
	for r := range counts {
		if r%3 != 1 {
			counts[r] = size + 5*r
		}
		want = append(want, made(counts[r], r, 0)...)
	}
	all := make([]byte, len(want))
	fill(cluster.Part(all, counts, c.Rank()), c.Rank(), 0)
	if err := c.AllGather(all, counts); err != nil {
		return err
	}
	return same("gather", all, want)
}

func exchanges(c cluster.Comm, size int) error {
	me, n := c.Rank(), c.Size()
	to, from := make([]int, n), make([]int, n)
	var send, want []byte
	long := func(a, b int) int { return (size + 3*a + b) * ((a + b) % 3) / 2 }
	for r := range n {
		to[r], from[r] = long(me, r), long(r, me)
		send, want = append(send, made(to[r], me, r)...), append(want, made(from[r], r, me)...)
	}
	recv := make([]byte, len(want))
	if err := c.AllToAll(send, to, recv, from); err != nil {
		return err
	}
	return same("exchange", recv, want)
}

// halves sends to every other rank in a line, and nothing to the others.
func halves(c cluster.Comm, size int) error {
	me, n := c.Rank(), c.Size()
	out, in, want := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for r := range n {
		if r == me || (r+me)%2 == 0 {
			continue
		}
		out[r], want[r] = made(size+3*me+r, me, r), made(size+3*r+me, r, me)
		in[r] = make([]byte, len(want[r]))
	}
	if err := c.Begin(out, in); err != nil {
		return err
	}
	if err := c.Finish(); err != nil {
		return err
	}
	for r := range n {
		if err := same("halves", in[r], want[r]); err != nil {
			return err
		}
	}
	return nil
}

// failsBetween has all ranks fail between the halves of an exchange, and then sends other data.
func failsBetween(c cluster.Comm, size int) error {
	me, n := c.Rank(), c.Size()
	out, in := make([][]byte, n), make([][]byte, n)
	for r := range n {
		if r != me {
			out[r], in[r] = made(size, me, r+50), make([]byte, size)
		}
	}
	if err := c.Begin(out, in); err != nil {
		return err
	}
	got, err := cluster.Agree(c, cluster.Failure(1, 7))
	if want := (cluster.Agreed{Failed: true, Code: 7}); err != nil || got != want {
		return fmt.Errorf("agreed on %v, not %v: %w", got, want, err)
	}
	if n > 1 && c.Finish() == nil {
		return fmt.Errorf("the second half has ended well, of %d bytes", size)
	}
	return exchanges(c, size)
}

// agrees finds the failure that counts.
func agrees(c cluster.Comm) error {
	me, n := c.Rank(), c.Size()
	for last := range n { // it and the ranks before it fail, later ones earlier in the program
		var word uint64
		if me <= last {
			word = cluster.Failure(uint64(n-me), 40+me)
		}
		got, err := cluster.Agree(c, word)
		if want := (cluster.Agreed{Failed: true, Rank: last, Code: 40 + last}); err != nil || got != want {
			return fmt.Errorf("agreed on %v, not %v: %w", got, want, err)
		}
	}
	got, err := cluster.Agree(c, cluster.Failure(1<<60, 3)) // all fail in the same way
	if want := (cluster.Agreed{Failed: true, Code: 3}); err != nil || got != want {
		return fmt.Errorf("agreed on %v, not %v: %w", got, want, err)
	}
	if got, err = cluster.Agree(c, 0); err != nil || got != (cluster.Agreed{}) {
		return fmt.Errorf("agreed on %v where all is well: %w", got, err)
	}
	return nil
}
