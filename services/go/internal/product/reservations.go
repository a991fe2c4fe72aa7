package product

import (
	"cmp"
	"context"
	"slices"

	pb "hopwise/proto/stubs/productv1"
	"hopwise/services/internal/lists"
	"hopwise/services/internal/shoperr"
	"hopwise/services/internal/validate"
)

// ReserveStock reserves stock for one checkout: for all lines or none, and only once per id.
func (s *Service) ReserveStock(ctx context.Context, r *pb.ReserveStockRequest) (*pb.Reservation, error) {
	key, err := validate.UUID(r.ReservationId, "reservation_id")
	if err := cmp.Or(err, checkLines(r.Lines)); err != nil {
		return nil, err
	}
	reservation := &pb.Reservation{Id: key, State: held}
	err = s.inTransaction(ctx, func(stock stock) error {
		claimed, err := stock.claim(ctx, key, held)
		if err != nil {
			return err
		}
		if !claimed {
			if reservation, err = stock.findLocked(ctx, key); err != nil {
				return err
			}
			return checkAgain(reservation, r.Lines)
		}
		ids := lists.Map(r.Lines, (*pb.StockLine).GetProductId)
		slices.Sort(ids)
		products, err := stock.productsLocked(ctx, ids)
		if err != nil {
			return err
		}
		if reservation.Lines, err = reserve(r.Lines, products); err != nil {
			return err
		}
		return stock.take(ctx, reservation)
	})
	if err != nil {
		return nil, err
	}
	return reservation, nil
}

// ConfirmReservation counts the pieces of a reservation as sold.
func (s *Service) ConfirmReservation(ctx context.Context, r *pb.ConfirmReservationRequest) (*pb.Reservation, error) {
	key, err := validate.UUID(r.ReservationId, "reservation_id")
	if err != nil {
		return nil, err
	}
	return s.moveReservation(ctx, key, confirmed, func(stock stock, reservation *pb.Reservation) error {
		switch reservation.State {
		case released:
			return shoperr.New(shoperr.FailedPrecondition, "reservation_id",
				"reservation %s was released and cannot be confirmed", key)
		case held:
			return stock.move(ctx, reservation, confirmed, 0, 1)
		}
		return nil
	})
}

// ReleaseReservation returns the pieces of a reservation to the stock. If the reservation does not exist, no
// reservation can be made with its id afterwards.
func (s *Service) ReleaseReservation(ctx context.Context, r *pb.ReleaseReservationRequest) (*pb.Reservation, error) {
	key, err := validate.UUID(r.ReservationId, "reservation_id")
	if err != nil {
		return nil, err
	}
	return s.moveReservation(ctx, key, released, func(stock stock, reservation *pb.Reservation) error {
		switch reservation.State {
		case held:
			return stock.move(ctx, reservation, released, 1, 0)
		case confirmed:
			return stock.move(ctx, reservation, released, 1, -1)
		}
		return nil
	})
}

// moveReservation changes a locked reservation, and returns it in its new state; a release claims the id first.
func (s *Service) moveReservation(
	ctx context.Context, key string, to pb.ReservationState, work func(stock, *pb.Reservation) error,
) (*pb.Reservation, error) {
	reservation := &pb.Reservation{Id: key}
	err := s.inTransaction(ctx, func(stock stock) error {
		if to == released {
			if claimed, err := stock.claim(ctx, key, to); err != nil || claimed {
				return err
			}
		}
		var err error
		if reservation, err = stock.findLocked(ctx, key); err != nil {
			return err
		}
		return work(stock, reservation)
	})
	if err != nil {
		return nil, err
	}
	reservation.State = to
	return reservation, nil
}
