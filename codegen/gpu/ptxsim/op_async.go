package ptxsim

// pendingCopy is a cp.async whose bytes did not arrive yet. They arrive when the thread waits for them, as late as the
// hardware may deliver them, so that code which does not wait reads what was there before.
type pendingCopy struct {
	dst, src uint64
	n, size  int // bytes that are copied, and bytes that are written: the rest is zero
	group    int // 0: not committed
}

func (c *compiler) cp() { c.errorf("cp is not supported") }
