package cluster_test

import (
	"errors"
	"testing"

	"healc/runtime/cluster"
	"healc/runtime/cluster/clustertest"
)

// TestAlone: one rank is a run as any other.
func TestAlone(t *testing.T) {
	if err := clustertest.Conforms(cluster.Alone()); err != nil {
		t.Error(err)
	}
	var length *cluster.LengthError
	if err := cluster.Alone().SendRecv([]byte{1}, 0, nil, 0); !errors.As(err, &length) {
		t.Errorf("a rank has sent itself more than it expects: %v", err)
	}
	if cluster.Many(nil) || cluster.Many(cluster.Alone()) {
		t.Error("one rank is many")
	}
}

// TestCounts: counts that are not those of the memory are a mistake of who calls.
func TestCounts(t *testing.T) {
	for _, counts := range [][]int{{2}, {-1, 4}, {3, 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v are good for 3 bytes of 2 ranks", counts)
				}
			}()
			cluster.CheckCounts(2, make([]byte, 3), counts)
		}()
	}
}
