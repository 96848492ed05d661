package until

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestUses: a thing ends once, after the last of its uses, and no use begins after Stop.
func TestUses(t *testing.T) {
	for range 200 {
		var u Uses
		var ends, inside atomic.Int64
		var users sync.WaitGroup
		for range 4 {
			users.Go(func() {
				for u.Begin() {
					inside.Add(1)
					if ends.Load() != 0 {
						t.Error("it ended while it was used")
					}
					inside.Add(-1)
					u.End()
				}
			})
		}
		end := func() {
			ends.Add(1)
			if n := inside.Load(); n != 0 {
				t.Errorf("it ended beside %d uses", n)
			}
		}
		<-u.Stop(end)
		<-u.Stop(end)
		users.Wait()
		if n := ends.Load(); n != 1 || u.Begin() || !u.Stopped() {
			t.Fatalf("it ended %d times", n)
		}
	}
}
