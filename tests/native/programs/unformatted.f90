! Records longer than gfortran's buffer: their leading markers are written again when the length is known.
program unformatted
  implicit none
  real(8) :: block(50000), back(50000)
  integer :: i
  block = 1
  open(unit=10, file='records.bin', form='unformatted', access='sequential')
  do i = 1, 3
    write(10) block, i
  end do
  rewind(10)
  do i = 1, 3
    read(10) back
  end do
  close(10)
end program
