package ranks

import "healc/runtime/cluster"

// StartEach is Start with the arguments of each rank.
var StartEach = start

// Threads is that of a rank which has joined the others, for so many of a process.
func Threads(c cluster.Comm, all int) (int, error) {
	r := &Rank{Comm: c}
	err := r.share()
	return r.Threads(all), err
}
