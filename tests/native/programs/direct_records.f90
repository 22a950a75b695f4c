! Each rank writes its cells of a box, record by record by the Fortran library, some times, and reads all of it back.
! direct_records SIZE STEPS: SIZE points in each direction, split between the ranks by rows and layers.
program direct_records
    use mpi
    implicit none
    integer :: rank, ranks, ierr, n, steps, step, layer, row, point, first, half
    double precision :: values(5)
    character(len=16) :: text

    call mpi_init(ierr)
    call mpi_comm_rank(mpi_comm_world, rank, ierr)
    call mpi_comm_size(mpi_comm_world, ranks, ierr)
    call get_command_argument(1, text)
    read (text, *) n
    call get_command_argument(2, text)
    read (text, *) steps
    half = n / 2
    values = rank
    open (unit=99, file='records.out', form='unformatted', access='direct', recl=40)
    do step = 0, steps - 1
        call cells(step, .true.)
        call mpi_barrier(mpi_comm_world, ierr)
    end do
    close (99)
    call mpi_barrier(mpi_comm_world, ierr)
    open (unit=99, file='records.out', form='unformatted', access='direct', recl=40)
    do step = 0, steps - 1
        call cells(step, .false.)
    end do
    close (99)
    call mpi_finalize(ierr)

contains

    subroutine cells(step, writes)
        integer, intent(in) :: step
        logical, intent(in) :: writes
        integer :: cell, low
        do cell = 0, 1
            low = half * mod(cell + rank, 2)
            do layer = half * cell, half * cell + half - 1
                do row = low, low + half - 1
                    first = n * (row + n * (layer + n * step))
                    do point = 0, half - 1
                        if (writes) then
                            write (99, rec=first + point + 1) values
                        else
                            read (99, rec=first + point + 1) values
                        end if
                    end do
                end do
            end do
        end do
    end subroutine cells
end program direct_records
