! Known MPI-IO calls from Fortran. MODULE_LINE chooses: use mpi, use mpi_f08, or mpif.h.
program fortran_calls
#if defined(USE_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#if defined(USE_MPIF)
  include 'mpif.h'
#endif
#if defined(USE_F08)
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Datatype) :: tile
#else
  integer :: file, status(MPI_STATUS_SIZE), tile
#endif
  integer :: rank, n, ierr, i
  integer(kind=MPI_OFFSET_KIND) :: place
  double precision :: block(10)
  logical :: found
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  block = rank
  call MPI_File_open(MPI_COMM_WORLD, 'fortran.bin', MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierr)
  do i = 0, 3
    place = (i * n + rank) * 80
    call MPI_File_write_at(file, place, block, 10, MPI_DOUBLE_PRECISION, status, ierr)
  end do
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Type_vector(2, 5, 5 * n, MPI_DOUBLE_PRECISION, tile, ierr)
  call MPI_Type_commit(tile, ierr)
  place = rank * 40
  call MPI_File_set_view(file, place, MPI_DOUBLE_PRECISION, tile, 'native', MPI_INFO_NULL, ierr)
  do i = 1, 3
    call MPI_File_write_all(file, block, 5, MPI_DOUBLE_PRECISION, status, ierr)
  end do
  call MPI_File_close(file, ierr)
  do i = 1, 20
    call MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, found, status, ierr)
  end do
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) then
    open(unit=10, file='unformatted.bin', form='unformatted', access='sequential')
    do i = 1, 1000
      write(10) block
    end do
    close(10)
  end if
  call MPI_Finalize(ierr)
end program
