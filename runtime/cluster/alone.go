package cluster

// alone is a run of one rank.
type alone struct{}

// Alone is the communicator of a program that runs on one process.
func Alone() Comm { return alone{} }

// Many reports whether there are other ranks. A nil c is a run of one.
func Many(c Comm) bool { return c != nil && c.Size() > 1 }

func (alone) Rank() int           { return 0 }
func (alone) Size() int           { return 1 }
func (alone) Barrier() error      { return nil }
func (alone) Meet([]uint64) error { return nil }
func (alone) Abort(int, string)   {}
func (alone) Close() error        { return nil }

func (alone) Begin(_, _ [][]byte) error { return nil }
func (alone) Finish() error             { return nil }

func (alone) AllGather(all []byte, counts []int) error {
	CheckCounts(1, all, counts)
	return nil
}

func (alone) AllToAll(send []byte, to []int, recv []byte, from []int) error {
	CheckCounts(1, send, to)
	CheckCounts(1, recv, from)
	return ToSelf(0, send, recv)
}

func (alone) SendRecv(send []byte, to int, recv []byte, from int) error {
	if to == Nobody && from == Nobody {
		return nil
	}
	if to != 0 || from != 0 {
		panic("BUG: a rank that sends to itself receives from itself")
	}
	return ToSelf(0, send, recv)
}
