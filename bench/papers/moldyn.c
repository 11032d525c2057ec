/*
 * moldyn: molecular dynamics with the Lennard-Jones potential, after the Java Grande benchmark.
 * Each thread adds up the forces of its pairs of particles in an array of its own. After a barrier
 * each thread adds these arrays up for its share of the particles and moves them.
 *
 * No block is cut: barriers separate everything. The energies are added up under a lock.
 */
#include "paper.h"

enum { MAX_PARTICLES = 2048 };

static const double TIME_STEP = 0.0005, CUT_OFF = 2.5;

struct vector {
	double x, y, z;
};

static pthread_barrier_t barrier;
static int particles, steps;
static double box;
static struct vector position[MAX_PARTICLES], velocity[MAX_PARTICLES];
static struct vector force[PAPER_MAX_THREADS][MAX_PARTICLES]; /* of each thread's pairs */

static pthread_mutex_t energy_lock = PTHREAD_MUTEX_INITIALIZER;
static double potential, kinetic;
static long interactions;

static double wrap(double d)
{
	return d > box / 2 ? d - box : d < -box / 2 ? d + box : d;
}

static void add_energy(double e, long pairs)
{
	LOCK(&energy_lock, add_energy);
	potential += e;
	interactions += pairs;
	UNLOCK(&energy_lock, add_energy);
}

static void add_kinetic(double e)
{
	LOCK(&energy_lock, add_kinetic);
	kinetic += e;
	UNLOCK(&energy_lock, add_kinetic);
}

/* The forces between particle i and those after it. Returns the energy. */
static double push_apart(int i, struct vector *f, long *pairs)
{
	double energy = 0;

	for (int j = i + 1; j < particles; j++) {
		double x = wrap(position[i].x - position[j].x);
		double y = wrap(position[i].y - position[j].y);
		double z = wrap(position[i].z - position[j].z);
		double r2 = x * x + y * y + z * z;

		if (r2 > CUT_OFF * CUT_OFF)
			continue;
		double r6 = 1 / (r2 * r2 * r2), push = 48 * r6 * (r6 - 0.5) / r2;

		energy += 4 * r6 * (r6 - 1);
		++*pairs;
		f[i].x += push * x;
		f[i].y += push * y;
		f[i].z += push * z;
		f[j].x -= push * x;
		f[j].y -= push * y;
		f[j].z -= push * z;
	}
	return energy;
}

static void compute_forces(int id)
{
	double energy = 0;
	long pairs = 0;

	memset(force[id], 0, (size_t)particles * sizeof force[id][0]);
	for (int i = id; i < particles; i += paper.threads)
		energy += push_apart(i, force[id], &pairs);
	add_energy(energy, pairs);
}

static void move_particles(int id)
{
	double energy = 0;

	for (int i = id; i < particles; i += paper.threads) {
		struct vector f = {0, 0, 0}, *v = &velocity[i], *p = &position[i];

		for (int t = 0; t < paper.threads; t++) {
			f.x += force[t][i].x;
			f.y += force[t][i].y;
			f.z += force[t][i].z;
		}
		v->x += f.x * TIME_STEP;
		v->y += f.y * TIME_STEP;
		v->z += f.z * TIME_STEP;
		p->x = fmod(p->x + v->x * TIME_STEP + box, box);
		p->y = fmod(p->y + v->y * TIME_STEP + box, box);
		p->z = fmod(p->z + v->z * TIME_STEP + box, box);
		energy += (v->x * v->x + v->y * v->y + v->z * v->z) / 2;
	}
	add_kinetic(energy);
}

static void *run_particles(void *arg)
{
	int id = (int)(intptr_t)arg;

	for (int step = 0; step < steps; step++) {
		if (id == 0)
			potential = kinetic = 0;
		pthread_barrier_wait(&barrier);
		compute_forces(id);
		pthread_barrier_wait(&barrier);
		move_particles(id);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* Puts the particles on a lattice, with random velocities whose sum is 0. */
static void place_particles(void)
{
	uint64_t random = 987654321;
	int side = (int)cbrt(particles);
	struct vector sum = {0, 0, 0};

	box = side * 1.2;
	for (int i = 0; i < particles; i++) {
		position[i] = (struct vector){i % side * 1.2, i / side % side * 1.2,
					      i / side / side * 1.2};
		velocity[i] =
			(struct vector){paper_random_unit(&random), paper_random_unit(&random),
					paper_random_unit(&random)};
		sum.x += velocity[i].x / particles;
		sum.y += velocity[i].y / particles;
		sum.z += velocity[i].z / particles;
	}
	for (int i = 0; i < particles; i++) {
		velocity[i].x -= sum.x;
		velocity[i].y -= sum.y;
		velocity[i].z -= sum.z;
	}
}

int main(int argc, char **argv)
{
	double before = 0, drift = 0;

	paper_start(argc, argv, "moldyn", 4, 6, 12, 4);
	particles = paper.size * paper.size * paper.size;
	steps = paper.is_small ? 2 : paper.size == 6 ? 4 : 150;
	pthread_barrier_init(&barrier, NULL, (unsigned)paper.threads);
	place_particles();
	for (int i = 0; i < particles; i++)
		before += (velocity[i].x * velocity[i].x + velocity[i].y * velocity[i].y +
			   velocity[i].z * velocity[i].z) /
			  2;
	paper_run_threads(run_particles);
	for (int i = 0; i < particles; i++)
		drift += velocity[i].x + velocity[i].y + velocity[i].z;
	paper_verify(fabs(drift) < 1e-6, "the sum of all momenta is not zero");
	paper_verify(interactions > 0 && kinetic > before / 2 && kinetic < before * 10,
		     "there is a wrong energy");
	printf("moldyn: %d particles, %ld interactions\n", particles, interactions);
	paper_print_places();
	return 0;
}
