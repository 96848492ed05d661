package mesh

import (
	"net"

	"healc/runtime/cluster"
)

// Local makes the ranks of a run in one process, each for a goroutine.
func Local(n int) ([]cluster.Comm, error) {
	if n < 1 {
		panic("BUG: a run without ranks")
	}
	conns := make([][]net.Conn, n)
	for r := range conns {
		conns[r] = make([]net.Conn, n)
	}
	for a := range n {
		for b := range a {
			ends, err := pair()
			if err != nil {
				for _, row := range conns {
					closeAll(row)
				}
				return nil, err
			}
			conns[a][b], conns[b][a] = ends[0], ends[1]
		}
	}
	comms := make([]cluster.Comm, n)
	for r := range comms {
		comms[r] = newMesh(r, conns[r], 0)
	}
	return comms, nil
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
}
