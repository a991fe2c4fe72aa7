//go:build !linux

package priority

import "errors"

func raise() error { return errors.ErrUnsupported }
