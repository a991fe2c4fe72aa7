package outcome

import "google.golang.org/grpc/codes"

// OfGRPC returns the class of a gRPC status.
func OfGRPC(code codes.Code) Class {
	switch code {
	case codes.OK:
		return OK
	case codes.DeadlineExceeded:
		return Timeout
	case codes.Unavailable, codes.Internal, codes.Unknown, codes.DataLoss:
		return Server
	}
	return Client
}
