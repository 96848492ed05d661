package heal

import (
	"context"
	"net"

	"healc/internal/engine"
	"healc/runtime/cluster"
	"healc/runtime/cluster/mesh"
	"healc/runtime/cluster/mpi"
)

// Cluster connects the ranks of a program that runs on several processes, for Options.Cluster. docs/distributed.md says
// what ranks do.
type Cluster = cluster.Comm

// RankError says that a call has failed on one of several ranks. It unwraps to what has failed, on that rank. Where
// the others do not know of it yet, Cluster.Abort tells them.
type RankError = cluster.FailedError

// DisagreeError says that ranks do not run the same: in what, and what they have.
type DisagreeError = engine.DisagreeError

// OpenMPI makes this process, started by a launcher such as mpirun, a rank of MPI_COMM_WORLD. The library is the one
// named by HEAL_LIBMPI, or the first that is found. It can be done once in a process.
func OpenMPI() (Cluster, error) { return mpi.Open() }

// RankPlace is where a rank finds the others, for JoinCluster.
type RankPlace = mesh.Place

// JoinCluster connects this process, which listens at l, with the other ranks over TCP. It gives up when ctx ends.
func JoinCluster(ctx context.Context, l net.Listener, p RankPlace) (Cluster, error) {
	return mesh.Join(ctx, l, p)
}

// LocalCluster makes the ranks of a run in one process, each for a goroutine.
func LocalCluster(n int) ([]Cluster, error) { return mesh.Local(n) }
