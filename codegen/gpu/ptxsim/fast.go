package ptxsim

func (c *compiler) fastAdd(t dtype)                 {}
func (c *compiler) fastMul(t dtype)                 {}
func (c *compiler) fastWide(t dtype, d, a, b int32) {}
