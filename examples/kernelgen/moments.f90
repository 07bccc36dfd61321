! The mean and the variance of each column of a matrix.
subroutine moments(m, n, a, mean, variance)
  implicit none
  integer, intent(in) :: m, n
  double precision, intent(in) :: a(m, n)
  double precision, intent(out) :: mean(n), variance(n)
  integer :: j
  do j = 1, n
    mean(j) = sum(a(:, j)) / m
    variance(j) = sum((a(:, j) - mean(j))**2) / m
  end do
end subroutine moments
