// Package atomicfile writes files whole or not at all.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write gives the file the content that write writes; after a failure the file is as it was before.
func Write(path string, write func(io.Writer) error) error {
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	buffered := bufio.NewWriterSize(part, 1<<18)
	err = write(buffered)
	if err = errors.Join(err, buffered.Flush(), part.Chmod(0o644), part.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.Rename(part.Name(), path)
}
