package cluster

import "fmt"

// CheckCounts panics where a caller's counts are not those of its memory.
func CheckCounts(size int, all []byte, counts []int) {
	if len(counts) != size || total(counts) != len(all) {
		panic(fmt.Sprintf("BUG: %d counts of %d bytes for %d ranks and %d bytes", len(counts), total(counts), size,
			len(all)))
	}
}

func total(counts []int) int {
	sum := 0
	for _, n := range counts {
		if n < 0 {
			panic("BUG: a negative count")
		}
		sum += n
	}
	return sum
}

// Part is part r of b.
func Part(b []byte, counts []int, r int) []byte {
	from := total(counts[:r])
	return b[from : from+counts[r] : from+counts[r]]
}

// ToSelf is what a rank sends to itself.
func ToSelf(rank int, send, recv []byte) error {
	if len(send) != len(recv) {
		return &LengthError{From: rank, Sent: int64(len(send)), Want: int64(len(recv))}
	}
	copy(recv, send)
	return nil
}
