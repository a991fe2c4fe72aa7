//go:build !linux

package priority

import "errors"

func set(Wish) error { return errors.ErrUnsupported }
